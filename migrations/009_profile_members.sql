-- Whether a profile that restricts a dimension shows all members of the others, or those of visible rows.

alter table profiles add column members text not null default 'visible' check (members in ('visible', 'all'));
