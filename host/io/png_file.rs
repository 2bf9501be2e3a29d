//! png_file
