#!/bin/sh
# docs/faults.md is what tests/faults/table says. `tests/faults/document.sh --write` makes it, without an option
# this checks that it is so.
set -eu
src=${srcdir:-.}
table=$src/tests/faults/table
document=$src/docs/faults.md

make_document() {
    cat <<'END'
# Faults

What adaps promises when something goes wrong while a controller uses two agents. This file is made of
`tests/faults/table` by `tests/faults/document.sh`, and `tests/faults/test_faults_table.c` tries every cell.

Rows are faults, columns the moment at which the fault begins. A cell says how the controller ends, and within how many
seconds of the fault: with the right *answer*, or with exit status 4 and a message that names the agent (*error*). D is the
deadline (`--deadline`) and half a second. Messages are changed between the controller and the agent, without keys: with
keys nobody else can change them unnoticed. After each of them, other controllers can use the agents that are left.

| fault | what happens |
| --- | --- |
| kill | the agent's process is killed |
| freeze | the agent's process is stopped (SIGSTOP) |
| cut | packets from and to the agent are refused |
| hole | packets from and to the agent are dropped silently |
| suspend | the controller is stopped for longer than the deadline, and goes on; the time counts from then |
| narrow | everything goes over loopback at 100 mbit only (tc, tbf) |
| slow-reader | what the agent and the controller send to each other is read at 2 MB/s only |
| truncate | the next message ends in the middle, and its connection with it |
| garbage | the next message has other bytes than were sent |
| duplicate | the next message comes twice |
| reorder | the next message comes after the one that follows it, or a second later |
| replay | after the next message, all that came before it on its connection come once more |
| descriptors | the agent may open no more files and connections than it has |
| disk | the disk of the agent's cache is full |
| threads | the agent may start no more threads (pids control group) |
| memory | the agent may have 2 MB more of memory (memory control group); the kernel may kill it |

| moment | what is just being done |
| --- | --- |
| connect | nothing yet |
| hello | the agent is asked who it is |
| plan | the plan is sent to it |
| weights | weights are sent to it |
| scatter | an inference begins: the source sends parts of the inputs |
| halo | agents compute, and exchange the rows between them |
| gather | the agent has sent its part of the result to the source |
| result | the source sends the answer to the controller; here the fault is the source's |
| stop | the session is closed |
| idle | the session is open, and nothing is asked; the time counts from the next inference |

END
    awk '
        /^#/ || NF < 4 { next }
        !($1 in row) { row[$1] = ++nrows; rows[nrows] = $1 }
        !($2 in column) { column[$2] = ++ncolumns; columns[ncolumns] = $2 }
        { cell[$1, $2] = ($3 == "either" ? "answer or error" : $3) ", " $4 }
        END {
            printf "| fault"
            for (c = 1; c <= ncolumns; c++) printf " | %s", columns[c]
            printf " |\n| ---"
            for (c = 1; c <= ncolumns; c++) printf " | ---"
            print " |"
            for (r = 1; r <= nrows; r++) {
                printf "| %s", rows[r]
                for (c = 1; c <= ncolumns; c++) printf " | %s", cell[rows[r], columns[c]]
                print " |"
            }
        }' "$table"
}

if [ "${1-}" = --write ]; then
    make_document >"$document"
    exit 0
fi
if make_document | cmp - "$document"; then
    echo "docs/faults.md is as tests/faults/table says"
else
    echo "docs/faults.md is not what tests/faults/document.sh --write makes" >&2
    exit 1
fi
