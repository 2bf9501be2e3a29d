//! The page, which is embedded in the program.

/// A file of the page.
pub(crate) struct Asset {
    /// The path under which it is served.
    pub path: &'static str,
    pub media_type: &'static str,
    pub bytes: &'static [u8],
}

macro_rules! assets {
    ($($path:literal, $file:literal, $media:literal;)*) => {
        &[$(Asset { path: $path, media_type: $media, bytes: include_bytes!(concat!("page/", $file)) }),*]
    };
}

/// All files of the page.
const ASSETS: &[Asset] = assets! {
    "/", "index.html", "text/html; charset=utf-8";
    "/style.css", "style.css", "text/css; charset=utf-8";
    "/icon.svg", "icon.svg", "image/svg+xml";
    "/main.js", "main.js", "text/javascript; charset=utf-8";
    "/api.js", "api.js", "text/javascript; charset=utf-8";
    "/card.js", "card.js", "text/javascript; charset=utf-8";
    "/colour.js", "colour.js", "text/javascript; charset=utf-8";
    "/controls.js", "controls.js", "text/javascript; charset=utf-8";
    "/export.js", "export.js", "text/javascript; charset=utf-8";
    "/line.js", "line.js", "text/javascript; charset=utf-8";
    "/live.js", "live.js", "text/javascript; charset=utf-8";
    "/map.js", "map.js", "text/javascript; charset=utf-8";
    "/orbit.js", "orbit.js", "text/javascript; charset=utf-8";
    "/places.js", "places.js", "text/javascript; charset=utf-8";
    "/player.js", "player.js", "text/javascript; charset=utf-8";
    "/plot.js", "plot.js", "text/javascript; charset=utf-8";
    "/record.js", "record.js", "text/javascript; charset=utf-8";
    "/series.js", "series.js", "text/javascript; charset=utf-8";
    "/state.js", "state.js", "text/javascript; charset=utf-8";
};

/// The file that is served at this path.
pub(crate) fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}
