-- annotations.sqlite: what people are asked, and what they answered. The only file of a store that a page writes.
CREATE TABLE IF NOT EXISTS item (
    place INTEGER PRIMARY KEY,      -- order of the study
    item_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,             -- question, positive, negative or practice
    explanation_id TEXT NOT NULL,
    wanted INTEGER,                 -- how many people are to answer; NULL: as many as come
    gold TEXT NOT NULL,             -- JSON: places of the sentences that cited the passage, in order
    body TEXT NOT NULL              -- all of the item, as a line of the export
) STRICT;

-- All but the body, which is most of the file: who is asked what is found without reading it.
CREATE INDEX IF NOT EXISTS standing ON item (place, item_id, kind, explanation_id, wanted, gold);

CREATE TABLE IF NOT EXISTS person (
    annotator TEXT PRIMARY KEY,     -- name or code, as it was first written
    folded TEXT NOT NULL UNIQUE,    -- the same without regard to case
    since TEXT NOT NULL             -- UTC, as all times
) STRICT;

CREATE TABLE IF NOT EXISTS answer (               -- rows are only ever added: a changed answer is another row
    answer_id TEXT PRIMARY KEY,     -- made by the browser, so that an answer sent twice is one
    item_id TEXT NOT NULL REFERENCES item (item_id),
    annotator TEXT NOT NULL REFERENCES person (annotator),
    predicted TEXT NOT NULL,        -- JSON: places of the sentences chosen, from 0
    helpfulness REAL NOT NULL,      -- 0 to 100
    seconds REAL NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS answers_of_person ON answer (annotator, item_id);
CREATE INDEX IF NOT EXISTS answers_to_item ON answer (item_id, annotator);

CREATE TABLE IF NOT EXISTS lease (                -- who has which item before them now
    annotator TEXT PRIMARY KEY,
    item_id TEXT NOT NULL,
    until TEXT NOT NULL
) STRICT;

-- Of several answers of a person to an item the last one; `first` is when the first was given, `total` what all took.
CREATE VIEW IF NOT EXISTS latest AS SELECT * FROM (
    SELECT *,
        row_number() OVER (PARTITION BY annotator, item_id ORDER BY at DESC, answer_id DESC) AS nth,
        min(at) OVER (PARTITION BY annotator, item_id) AS first,
        sum(seconds) OVER (PARTITION BY annotator, item_id) AS total
    FROM answer
) WHERE nth = 1;
