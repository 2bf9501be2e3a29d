#!/bin/bash
#SBATCH --cpus-per-task=4
#SBATCH --requeue
# One part of a command of Trisolar, as a task of a job array of Slurm or HyperQueue. The arguments are the command, and PARTS is the
# number of parts. A task that is started again continues its part. See docs/clusters-of-machines.md.
set -eu
task=${SLURM_ARRAY_TASK_ID:-${HQ_TASK_ID:?it must be a task of an array of Slurm or HyperQueue}}
exec trisolar "$@" --part "$task/${PARTS:?it must be the number of parts}" --quiet
