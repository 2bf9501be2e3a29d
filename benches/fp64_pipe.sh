#!/bin/sh
# Measures with Nsight Compute how much of the f64 pipe a map's kernel uses: the shares of the pipe, of all issue slots, and of the
# warps that a multiprocessor can hold, and the registers per thread, as means over some launches in the middle of a map.
#
#   benches/fp64_pipe.sh [PRECISION ...]        f64 and fast, if none is given
#
# It needs a GPU, `ncu` (from the CUDA toolkit or Nsight Compute; NCU sets its path) and permission to read the counters: run it as root, or
# with the driver's option NVreg_RestrictProfilingToAdminUsers=0. TRISOLAR sets the path of the program.
set -eu
ncu=${NCU:-ncu}
trisolar=${TRISOLAR:-target/release/trisolar}
for program in "$ncu" "$trisolar"; do
    command -v "$program" > /dev/null || { echo "$program is not there; see the head of $0" >&2; exit 1; }
done
[ $# -gt 0 ] || set -- f64 fast

# The names differ between generations of GPUs: those that this one has.
known=$("$ncu" --query-metrics 2> /dev/null || true)
echo "$known" | grep -q sm__throughput || known= # it does not say
metrics=
for metric in \
    gpu__time_duration.sum \
    sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active \
    sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active \
    sm__throughput.avg.pct_of_peak_sustained_elapsed \
    smsp__issue_active.avg.pct_of_peak_sustained_active \
    sm__warps_active.avg.pct_of_peak_sustained_active \
    launch__registers_per_thread; do
    case $metric in
    launch__*) ;; # of the launch, not of the GPU: not among those that can be asked for
    *) [ -z "$known" ] || echo "$known" | grep -q "^${metric%%.*}\b" || continue ;;
    esac
    metrics=$metrics${metrics:+,}$metric
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for precision in "$@"; do
    kernel=map_divergence_explicit_euler_$(echo "${precision%%:*}" | tr - _)
    # A map takes one launch of some tens of milliseconds after the other. The first ones are short, the last ones run dry; counters
    # need several passes, for each of which the launch is done again.
    "$ncu" --csv --log-file "$work/log" --metrics "$metrics" --clock-control none \
        --kernel-name "$kernel" --launch-skip 6 --launch-count 4 \
        "$trisolar" divergence --size 2000 --steps 50000 --precision "$precision" \
        --backend gpu --gpus 1 --quiet --out "$work/map.npy" || { cat "$work/log" >&2; exit 1; }
    echo "$precision: the mean of 4 launches of $kernel"
    # Columns by their names, which are in the first line of quoted fields.
    awk -F '","' '
        /^"/ && !name {
            for (i = 1; i <= NF; i++) {
                gsub(/"/, "", $i)
                if ($i == "Metric Name") name = i
                if ($i == "Metric Unit") unit = i
                if ($i == "Metric Value") value = i
            }
            next
        }
        /^"/ && name {
            metric = $name; number = $value
            gsub(/[",]/, "", number); gsub(/"/, "", metric)
            if (!(metric in count)) order[++metrics] = metric
            sum[metric] += number; count[metric]++; units[metric] = $unit
        }
        END {
            for (i = 1; i <= metrics; i++) {
                metric = order[i]
                printf "  %-64s %14.2f %s\n", metric, sum[metric] / count[metric], units[metric]
            }
            if (!metrics) { print "  ncu has measured nothing"; exit 1 }
        }' "$work/log" || { cat "$work/log" >&2; exit 1; }
done
