#!/bin/sh
# A run on a Slurm cluster, one shard a job of the array; folders are on a file system that all nodes see.
#   sbatch --array=0-7 examples/cluster/slurm.sh 8 PLAN OUT [option of openfingym rollout]...
# $OPENFINGYM_IMAGE: the image as Apptainer has it. $OPENFINGYM_HOME: where tasks are built; default: below your home.
#SBATCH --job-name=openfingym --cpus-per-task=4 --mem=16G --time=12:00:00
#SBATCH --requeue --signal=TERM@120
#SBATCH --output=openfingym-%a.log --open-mode=append
set -u
count=$1 plan=$2 out=$3
shift 3

srun apptainer exec "${OPENFINGYM_IMAGE:-openfingym-rollout.sif}" \
    openfingym-shard "$SLURM_ARRAY_TASK_ID" "$count" "$out" --plan "$plan" --concurrency "$SLURM_CPUS_PER_TASK" "$@"
status=$?
# Slurm itself queues again what is preempted or loses its node; what runs out of time, or fails for a reason of ours, is up to us.
case $status in
    0 | 2) ;;
    *) [ "${SLURM_RESTART_COUNT:-0}" -ge 8 ] || scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID" ;;
esac
exit "$status"
