-- The history of loads: every attempt of every feed, how it ended and what it brought.

create table load_attempts (
    ordinal       bigint generated always as identity primary key,  -- the order in which they began, whatever clocks said
    load_id       text not null unique,
    binding       text not null,
    source        text not null,
    target        text not null,
    mode          text not null check (mode in ('full', 'replace_periods', 'append')),
    status        text not null check (
        status in (
            'running', 'success', 'failed_connect', 'failed_extract', 'failed_validate', 'failed_stage',
            'failed_publish', 'failed_interrupted'
        )
    ),
    started_at    timestamptz not null,
    finished_at   timestamptz,
    due_at        timestamptz,  -- slot of the schedule that it answers
    periods       text,         -- codes asked for, as they were written
    first_day     date,         -- days asked for, else those of the rows that landed
    last_day      date,
    rows_read     bigint check (rows_read >= 0),
    rows_landed   bigint check (rows_landed >= 0),
    rows_rejected bigint check (rows_rejected >= 0),
    message       text,         -- why it failed, without secrets
    rejects_file  text,
    check ((first_day is null) = (last_day is null)),
    check (first_day <= last_day)
);
