-- The data contract: what a published results file holds. Rows are in the order (model, dataset, technique, regime, place).

CREATE TABLE snapshot (
    snapshot_id VARCHAR,      -- hash of shards and evaluator: the same of both give the same id
    format INTEGER,           -- version of this schema
    evaluator VARCHAR,        -- hash of the code, settings and libraries that computed these results from the shards
    published_at TIMESTAMP,   -- when this file was built, UTC
    bundled BOOLEAN           -- whether these are the demo results that come with the program
);

CREATE TABLE run (
    run_id VARCHAR,           -- one invocation of the batch job
    git_commit VARCHAR,       -- of the program, if it ran from a checkout
    versions VARCHAR,         -- JSON: library ▶ version
    device VARCHAR,           -- cpu, cuda, mps
    dtype VARCHAR,            -- of the weights while computing; scores are float32
    seed INTEGER,             -- of sampling, documents and wordings
    configuration VARCHAR,    -- JSON: the command line as parsed
    started TIMESTAMP,        -- UTC
    finished TIMESTAMP        -- UTC; NULL if it was interrupted
);

CREATE TABLE model (
    model VARCHAR,            -- key: a folder's name or a hub id
    revision VARCHAR,         -- hub commit, or a fingerprint of the folder
    architecture VARCHAR,     -- Hugging Face model type
    layers INTEGER,           -- decoder layers
    heads INTEGER,            -- query heads per layer
    kv_heads INTEGER,         -- key/value heads per layer
    width INTEGER,            -- of the residual stream
    parameters BIGINT,        -- number of weights
    positions INTEGER,        -- longest prompt, in tokens
    bos_id INTEGER,           -- the tokenizer's beginning-of-text token, if any
    adds_bos BOOLEAN,         -- whether the tokenizer puts it before a prompt
    pad_id INTEGER,           -- padding token, if any
    baseline_id INTEGER,      -- token that replaces an ablated one in fa and ig
    prompt_style VARCHAR,     -- plain, or taught_sources for the demo models
    float32_logits BOOLEAN    -- whether logits were computed in float32; else they are as coarse as the weights' dtype
);

CREATE TABLE dataset (
    dataset VARCHAR,          -- key into instance
    title VARCHAR,
    fingerprint VARCHAR,      -- of all its facts, in any order
    records INTEGER,          -- read from its file
    malformed INTEGER,        -- of these, left out because they break the format (see failure)
    unusable VARCHAR,         -- JSON: reason ▶ records left out for it before questions were sampled
    usable INTEGER,           -- questions left
    asked INTEGER,            -- of these, asked (--limit)
    relations INTEGER         -- distinct relations among the usable questions
);

CREATE TABLE instance (
    instance_id VARCHAR,      -- hash of model, revision, dataset, regime, technique, question and seed
    model VARCHAR,            -- key into model
    revision VARCHAR,         -- key into model
    dataset VARCHAR,          -- key of the dataset
    regime VARCHAR,           -- how documents are combined
    technique VARCHAR,        -- how the answer is produced: regular
    place INTEGER,            -- number of the question in the seeded order, from 0
    fact_id VARCHAR,          -- the question, the same under every regime and model
    subject VARCHAR,          -- what the question is about
    relation VARCHAR,         -- what is asked of it
    question VARCHAR,         -- the question's text
    true_answer VARCHAR,      -- the dataset's true answer
    prompt VARCHAR,           -- the whole text given to the model; NULL if no instance could be built
    tokens VARCHAR[],         -- the text of each token; together the prompt
    first_ranked INTEGER,     -- tokens before this index (a BOS, a chat template, solved examples) are never ranked
    ranked_end INTEGER,       -- nor are tokens from this index on (the rest of a chat template, the answer's beginning)
    document_starts INTEGER[],   -- per document: first token; this and what else is of tokens is empty if the answer was given
                              -- without the documents, as agents may
    document_ends INTEGER[],     -- per document: token after the last
    question_start INTEGER,   -- first token of the question
    question_end INTEGER,     -- token after its last
    document_answers VARCHAR[],  -- per document: the answer it carries
    document_kinds VARCHAR[],    -- per document: conflicting, irrelevant, gold or off_topic
    document_origins VARCHAR[],  -- per document: shipped, or substituted
    document_sources VARCHAR[],  -- per document: kind of source it is attributed to, or NULL
    answer_tokens INTEGER[][],   -- per document: tokens that overlap a mention of its answer
    first_mention INTEGER[][],   -- per document: tokens of the first mention
    memory_answer VARCHAR,    -- the model's own greedy answer without context
    candidate_groups VARCHAR[],       -- per candidate answer: C, C1, C2 or M
    candidate_texts VARCHAR[],        -- per candidate: its text
    candidate_ids INTEGER[],          -- per candidate: its likeliest first token
    candidate_leading INTEGER[],      -- per candidate: its first token in running text
    candidate_logits FLOAT[],         -- per candidate: that token's logit
    candidate_probabilities FLOAT[],  -- per candidate: that token's probability
    predicted_text VARCHAR,   -- the model's greedy first token, as text
    predicted_id INTEGER,     -- the same token's id
    predicted_probability FLOAT,  -- the same token's probability
    answer_text VARCHAR,      -- the model's greedy answer, at most 10 tokens; NULL if not generated (--match first)
    first_group VARCHAR,      -- the group by the first token: C, M, C1, C2, other, ambiguous; the text also gives denied
    text_group VARCHAR,       -- the group by the answer's text, one of the same; NULL if no text was generated
    "group" VARCHAR,          -- where the answer came from: first_group or text_group, by --match
    expected_group VARCHAR,   -- the group that the taught rule implies; NULL if no rule is known
    dropped_because VARCHAR   -- why metrics leave the instance out; NULL if they use it
);

CREATE TABLE attribution (
    instance_id VARCHAR,      -- key into instance
    explainer VARCHAR,        -- key of the explainer
    scores FLOAT[],           -- one per token, as the method defines them
    tied FLOAT,               -- share of the ranked tokens whose score equals another ranked token's
    seconds FLOAT,            -- wall time of this explainer; NULL for controls
    settings VARCHAR,         -- the explainer's repr
    signed BOOLEAN,           -- whether its scores have a sign, as declared when they were computed
    layer INTEGER,            -- chosen head's layer, for methods that choose one
    head INTEGER,             -- chosen head
    head_scores FLOAT[],      -- layers x heads, row by row: how strongly each head supports the answer
    details VARCHAR           -- JSON: what else the method reports (margin, runner-up, completeness gap, …)
);

-- With --target context: explanations of the first document's answer against its competitor (the memory answer with one
-- document, the second document's answer with two), whatever the model answered. Instances that `attribution` already
-- explains this way (groups C and C1) have no rows here, nor do instances where the model gave neither of the two answers.
CREATE TABLE context_attribution (
    instance_id VARCHAR,      -- key into instance
    explainer VARCHAR,        -- key of the explainer
    scores FLOAT[],           -- one per token, as the method defines them
    tied FLOAT,               -- share of the ranked tokens whose score equals another ranked token's
    seconds FLOAT,            -- wall time of this explainer; NULL for controls
    settings VARCHAR,         -- the explainer's repr
    signed BOOLEAN,           -- whether its scores have a sign
    layer INTEGER,            -- chosen head's layer, for methods that choose one
    head INTEGER,             -- chosen head
    head_scores FLOAT[],      -- layers x heads, row by row: how strongly each head supports the first document's answer
    details VARCHAR           -- JSON: what else the method reports (margin, runner-up, completeness gap, …)
);

-- With --answers: whole answers, explained word by word; of gold and conflicting documents.
CREATE TABLE answer (
    instance_id VARCHAR,      -- key into instance, whose prompt it answers
    generated VARCHAR,        -- JSON: what `explain --generate --format json` prints as `generated`, with scores of the documents' sentences; NULL if there is none
    seconds VARCHAR,          -- JSON: explainer ▶ seconds by itself, and passes beyond what others had run
    unavailable VARCHAR       -- why there is none
);

-- With --answers, of data sets of answers that people wrote, such as quotesum: whose parts are from where. No text is kept.
CREATE TABLE quoted (
    model VARCHAR,
    dataset VARCHAR,
    answer_id VARCHAR,        -- as the dataset names it
    question_id VARCHAR,      -- a hash of the question: several people answered each
    explainer VARCHAR,        -- or a control: lexical, overlap, position, random, minilm; or, of words, trace, surprise, nowhere
    part VARCHAR,             -- sentence: documents compete; span, which people marked as copied, claim, the whole answer, once for each set that supports it, and statement, a part of it: sentences compete; words: each of them, by how little supports it
    place INTEGER,            -- its number in the answer, from 0
    gold INTEGER[],           -- which of them it is from, by people, from 0; of words those that nothing supports
    copied FLOAT,             -- share of its words that stand in the documents it is from
    scores FLOAT[]            -- one for each that competes
);

CREATE TABLE cell_quoted (
    model VARCHAR,
    dataset VARCHAR,
    explainer VARCHAR,
    measure VARCHAR,          -- source: whether a sentence's first choice is a document that it is from; span_rank: 1 / rank of the first sentence that a span is from; claim_first, claim_precision, claim_recall, word_auroc, word_precision, word_recall: see evaluation/quoted.py
    copied VARCHAR,           -- all; or, of sentences and claims, the share of their words that stand in their documents
    value DOUBLE,             -- mean; ties broken at random
    low DOUBLE,               -- 95 % interval over questions; from 0 to 1 with a single one
    high DOUBLE,
    chance DOUBLE,            -- what random scores get
    against VARCHAR,          -- the control with the highest value here
    delta DOUBLE,             -- value - that of this control; NULL for itself
    delta_low DOUBLE,         -- 95 % interval of the paired difference over questions
    delta_high DOUBLE,
    n INTEGER,                -- sentences, spans, claims, statements or words
    questions INTEGER         -- that they belong to
);

CREATE TABLE head_attention (
    instance_id VARCHAR,      -- key into instance
    layer INTEGER,            -- from 0
    head INTEGER,             -- from 0
    attention FLOAT[]         -- the last prompt position's row, one per token
);

-- With --head-need: what the answer needs of each head, by path patching.
CREATE TABLE head_need (
    instance_id VARCHAR,      -- key into instance
    lead FLOAT,               -- logits by which the answer leads its competitor, the foil of MechLight
    lost FLOAT[]              -- layers x heads, row by row: logits of it lost when the head writes nothing at the last position
);

-- With --sources: what the answer depends on, by intervention. One row per mention of the answer in documents and padding; of an
-- answer from memory beside one document, per mention of the document's answer.
CREATE TABLE source (
    instance_id VARCHAR,      -- key into instance
    mention INTEGER,          -- from 0, in the order of the prompt
    document INTEGER,         -- in which it stands, from 0; -1 in padding
    "start" INTEGER,          -- first token of the mention
    "end" INTEGER,            -- token after its last
    outcomes VARCHAR[],       -- with each of two fresh answers in this place alone: stays, moves (another first token) or follows
    lost FLOAT,               -- nats that the answer's first token loses, mean of the two
    is_source BOOLEAN,        -- whether neither of the two outcomes is stays
    source VARCHAR,           -- of the instance: one, several, either (only all together move it) or none
    together VARCHAR,         -- of the instance: the outcome with the first fresh answer in all mentions
    fresh VARCHAR[],          -- of the instance: the two fresh answers
    agreed INTEGER,           -- different words of the question, in any case, that stand in the mention's sentence
    hidden_changes BOOLEAN,   -- whether the first token is another with attention to the mention hidden from all later tokens; NULL with one mention
    hidden_lost FLOAT,        -- nats that the answer's first token loses then
    route_changes BOOLEAN,    -- the same, hidden from the last token only
    route_lost FLOAT,         -- nats
    unavailable VARCHAR       -- why the instance has none: then in one row, whose other columns are NULL
);

CREATE TABLE score (
    instance_id VARCHAR,      -- key into instance
    explainer VARCHAR,        -- key of the explainer
    metric VARCHAR,           -- key of the metric
    part VARCHAR,             -- which document (c, c1, c2) or group (C, C1, C2); for faithfulness, how tokens are taken
                              -- out (baseline, drawn, deletion), and all, their mean; with the question protected
                              -- each ends with _protected
    k INTEGER,                -- tokens considered; 0 if the metric has no k
    value DOUBLE,             -- the metric's value for this instance
    chance DOUBLE             -- what random scores get for this instance on average
);

CREATE TABLE pattern (
    instance_id VARCHAR,      -- key into instance; only instances answered from a document
    explainer VARCHAR,        -- key of the explainer
    pattern VARCHAR,          -- what its best-ranked token is: answer, wrong_document, question, function_word, near_entity, …
    token INTEGER             -- that token
);

CREATE TABLE pattern_chance (
    instance_id VARCHAR,      -- key into instance; only instances answered from a document
    answer DOUBLE,            -- share of each kind among the ranked tokens: how often random scores rank it first
    wrong_document DOUBLE,
    question DOUBLE,
    function_word DOUBLE,
    near_entity DOUBLE,
    other DOUBLE
);

CREATE TABLE pattern_share (
    place INTEGER,            -- position in the list, from 0
    dataset VARCHAR,
    technique VARCHAR,
    explainer VARCHAR,
    pattern VARCHAR,
    instances INTEGER,        -- instances whose best token has this pattern
    share DOUBLE,             -- of the n instances answered from a document
    low DOUBLE,               -- 95 % interval, questions resampled
    high DOUBLE,
    chance DOUBLE,            -- share under random scores
    n INTEGER
);

CREATE TABLE cell_metric (
    model VARCHAR,            -- a cell is one model, dataset, regime, technique and explainer
    dataset VARCHAR,
    regime VARCHAR,
    technique VARCHAR,
    explainer VARCHAR,
    metric VARCHAR,           -- key of the metric
    part VARCHAR,             -- which document or group; for faithfulness as in score
    k INTEGER,                -- 0 if the metric has no k
    value DOUBLE,             -- NULL if not available
    low DOUBLE,               -- 95 % interval, bootstrap over questions
    high DOUBLE,
    chance DOUBLE,            -- what random scores get
    above_low DOUBLE,         -- 95 % interval of value - chance; if chance was measured, both are resampled together
    above_high DOUBLE,
    best DOUBLE,              -- what perfect scores get; NULL if that is not known
    normalised DOUBLE,        -- (value - chance) / (best - chance): 0 is chance, 1 is perfect
    p DOUBLE,                 -- of the value under chance, by permutation; NULL if there is no such test
    n INTEGER,                -- instances that the value is computed from
    group_sizes VARCHAR,      -- JSON: group ▶ instances
    details VARCHAR,          -- JSON: what else the metric reports (adjusted, sd over reshuffles)
    unavailable VARCHAR       -- why there is no value
);

CREATE TABLE board (
    json VARCHAR              -- the board of everything, as the Leaderboard shows it: `evaluation/board/records.py`
);

CREATE TABLE headline (
    question VARCHAR,         -- RQ1, RQ2, RQ3
    technique VARCHAR,
    explainer VARCHAR,
    metric VARCHAR,
    k INTEGER,
    value DOUBLE,             -- mean over the technique's cells that count: those that more than half of the methods have; only who has all of them
    low DOUBLE,               -- 95 % interval, questions resampled in all cells together
    high DOUBLE,
    chance DOUBLE,
    normalised DOUBLE,        -- mean over the same cells of (value - chance) / (best - chance); NULL if best is not known
    normalised_low DOUBLE,    -- 95 % interval, from the same resamples
    normalised_high DOUBLE,
    cells INTEGER,            -- cells averaged
    n INTEGER                 -- instances in them
);

CREATE TABLE behaviour (
    instance_id VARCHAR,      -- key into instance: one answer under its technique; only where techniques were compared
    split VARCHAR,            -- development (settings were chosen on it), test, or alone: of the test, but not every technique answered it
    accepted INTEGER[],       -- first tokens that count as the answer that the document promotes (t_C)
    true_ids INTEGER[],       -- first tokens of the true answer; empty where the dataset names none
    memory_id INTEGER,        -- Regular's own next token without documents (t_M)
    alone_id INTEGER,         -- the technique's next token without documents
    target_id INTEGER,        -- the token whose probability is compared: t_C for gold and conflicting, else t_M
    probability DOUBLE,       -- of that token with the documents
    alone_probability DOUBLE, -- of that token without them, of the same technique
    knew BOOLEAN,             -- whether memory_id is one of true_ids: memory gives the true answer
    setting VARCHAR,          -- JSON: what the technique was run with; empty where there is nothing to choose
    trace VARCHAR,            -- JSON: what was asked and answered before the answer; NULL if nothing was
    bcu DOUBLE,               -- 1 if the answer is what the kind of context asks for, else 0
    ccu DOUBLE,               -- change of the target's probability, from -1 to 1
    correct DOUBLE,           -- 1 if the answer begins as the true answer does, else 0; NULL where that is not known
    memory_kept DOUBLE,       -- 1 if alone_id is memory_id, else 0
    neither DOUBLE            -- 1 if the answer is neither accepted nor memory_id, else 0
);

CREATE TABLE technique_trial (
    model VARCHAR,
    dataset VARCHAR,
    technique VARCHAR,
    setting VARCHAR,          -- JSON
    regime VARCHAR,           -- kind of context
    bcu DOUBLE,               -- mean over the development questions
    n INTEGER,                -- development questions
    chosen BOOLEAN,           -- whether the technique was run with this setting
    tied BOOLEAN,             -- whether it is as good as the chosen one by the method's own rule
    unavailable VARCHAR       -- why the technique was not searched, and so not run
);

CREATE TABLE cell_behaviour (
    model VARCHAR,
    dataset VARCHAR,
    technique VARCHAR,
    regime VARCHAR,           -- kind of context; total for all of them
    measure VARCHAR,          -- bcu, bcu_unknown (where memory did not know), ccu, accuracy, memory_kept, neither; of the total
                              -- also discrimination and discrimination_off_topic
    value DOUBLE,             -- over the test questions; NULL if not available
    low DOUBLE,               -- 95 % interval, questions resampled
    high DOUBLE,
    chance DOUBLE,            -- what a technique that is blind to relevance gets; NULL where that is not defined
    delta DOUBLE,             -- the technique's mean - Regular's, over the instances that both answered; NULL without any
    delta_low DOUBLE,         -- 95 % interval, questions resampled for both together
    delta_high DOUBLE,
    n INTEGER,                -- test instances; questions for memory_kept of the total
    exceeds VARCHAR[],        -- those whose values its own is above: paired, Holm over all pairs (`evaluation/ranking.py`)
    unavailable VARCHAR       -- why there is no value
);

CREATE TABLE pareto (
    model VARCHAR,
    dataset VARCHAR,
    technique VARCHAR,
    context_faithfulness DOUBLE,  -- (BCU gold + BCU conflicting) / 2; the one that there is, if no technique has the other
    faithfulness_low DOUBLE,      -- 95 % interval, questions resampled in all kinds together
    faithfulness_high DOUBLE,
    robustness DOUBLE,        -- BCU irrelevant
    robustness_low DOUBLE,
    robustness_high DOUBLE,
    discrimination DOUBLE,    -- BCU conflicting + BCU irrelevant - 1: 0 for a technique that is blind to relevance, 1 for a perfect one
    discrimination_low DOUBLE,
    discrimination_high DOUBLE,
    on_front BOOLEAN,         -- no other technique is at least as good in both, and better in one
    share_on_front DOUBLE,    -- share of the resamples in which that holds
    n INTEGER                 -- test questions
);

CREATE TABLE feature_correlation (
    dataset VARCHAR,          -- all: every dataset together, where there are several
    regime VARCHAR,           -- kind of context
    technique VARCHAR,
    feature VARCHAR,          -- of the model or of the input
    rho DOUBLE,               -- Spearman's, of BCU with the feature, over all models together, as in CUB
    p DOUBLE,
    p_holm DOUBLE,            -- corrected over the features of the same dataset, regime and technique
    rho_stratified DOUBLE,    -- ranks within each model and dataset, pooled; NULL for features of a model
    p_stratified DOUBLE,
    p_stratified_holm DOUBLE,
    n INTEGER,                -- test instances
    unavailable VARCHAR       -- why there is no value
);

CREATE TABLE finding (
    place INTEGER,            -- position in the list, from 0; citations have a list of their own
    study VARCHAR,            -- what it is about: explainers; techniques and citations, only where they were studied
    key VARCHAR,
    sentence VARCHAR,         -- a statement of the study's paper
    published VARCHAR,        -- the paper's numbers for it
    verdict VARCHAR,          -- supported, contradicted, not enough data
    reason VARCHAR,
    by_construction VARCHAR,  -- what the demo models' taught rule makes true anyway; NULL for other models
    unit VARCHAR,             -- of the effects
    effects VARCHAR,          -- JSON: label, value, low, high (95 %), the range it should lie in, cells, n
    levels VARCHAR            -- JSON: label, value, low, high, chance, and the value that the paper reports
);

-- With --timing: seconds of explainers by themselves. Rows of one `measured` were measured in turns on the same prompts, in one
-- batch; rows of two compare by their ratio to the yardstick alone. An explainer's newest row in a cell.
CREATE TABLE timing (
    model VARCHAR,
    dataset VARCHAR,
    regime VARCHAR,
    technique VARCHAR,
    explainer VARCHAR,
    batch INTEGER,            -- prompts of equal length, explained together
    length INTEGER,           -- tokens of each prompt
    seconds DOUBLE,           -- of the explainer by itself for one prompt, with all passes that it uses; the least of three rounds
    passes DOUBLE,            -- tokens that went through all of the model's blocks, backwards too, over those of the prompt
    yardstick DOUBLE,         -- seconds of fa for one prompt, measured along with it
    device VARCHAR,           -- cpu, cuda or mps
    measured VARCHAR          -- when (UTC); the same for what was measured together
);

CREATE TABLE context (
    model VARCHAR,
    dataset VARCHAR,
    regime VARCHAR,
    technique VARCHAR,
    instances INTEGER,        -- kept ones; the lengths below are of all their documents together
    characters_mean DOUBLE,
    characters_low DOUBLE,    -- 5 % quantile
    characters_high DOUBLE,   -- 95 % quantile
    tokens_mean DOUBLE,
    tokens_low DOUBLE,
    tokens_high DOUBLE,
    substituted INTEGER       -- instances whose second false answer was substituted
);

CREATE TABLE failure (
    model VARCHAR,            -- where it happened, as far as it is known
    dataset VARCHAR,
    regime VARCHAR,
    technique VARCHAR,
    explainer VARCHAR,
    place VARCHAR,            -- the instance, or the record's file and line
    error VARCHAR,            -- class and message
    happened TIMESTAMP        -- UTC
);

CREATE TABLE catalogue (
    kind VARCHAR,             -- dataset, explainer, metric, technique, claims, selector or annotator
    key VARCHAR,
    title VARCHAR,
    signed BOOLEAN,           -- explainers: whether scores have a sign
    control BOOLEAN,          -- explainers, annotators: whether it is a control
    text_only BOOLEAN,        -- explainers: whether it reads text only; other controls ask the model
    family VARCHAR,           -- explainers, techniques, annotators: how they work (gradient, decoding, …)
    place INTEGER,            -- techniques, selectors, annotators: their order on pages, from 1
    passes DOUBLE,            -- techniques: forward passes for an answer, Regular's being 1
    preparation VARCHAR,      -- techniques: what precedes the first answer: nothing, tuned or trained
    reference VARCHAR,
    docstring VARCHAR         -- formula, reference, departure, cost
);

CREATE TABLE claim (
    dataset VARCHAR,          -- key of the source of the claims
    claim_id VARCHAR,         -- unique within the dataset
    claim VARCHAR,
    verdict VARCHAR,          -- in the data's own words
    numbers INTEGER[],        -- of the passages, as citations name them
    passages VARCHAR[],       -- their texts
    titles VARCHAR[],         -- empty where a passage has none
    chains VARCHAR,           -- JSON: passages that people selected, a list for each way to the verdict
    problems VARCHAR[],       -- what is wrong with the record though it can be used
    unusable VARCHAR          -- why the record cannot be used; NULL if it can
);

CREATE TABLE explanation (
    explanation_id VARCHAR,   -- dataset, claim, writer, selector and text, hashed: answers belong to one text
    dataset VARCHAR,
    claim_id VARCHAR,
    writer VARCHAR,           -- key
    selector VARCHAR,         -- key
    prompt_id VARCHAR,        -- what it was written with; empty if not known
    selected INTEGER[],       -- numbers of the passages that the writer was given
    sentences VARCHAR[],      -- with their markers
    bare VARCHAR[],           -- without
    cited VARCHAR,            -- JSON: per sentence the numbers of the passages it cites
    sources VARCHAR,          -- JSON: per sentence the numbers of the passages it was made from; NULL where that is not known
    sampled INTEGER,          -- the passage that `sample` masks; NULL if there is none
    problems VARCHAR[],       -- what is wrong with it though it can be used
    precision DOUBLE,         -- of the selected passages, against the best chain of people; NULL without chains
    recall DOUBLE,
    f1 DOUBLE,
    unavailable VARCHAR       -- why there is no explanation; NULL if there is one
);

CREATE TABLE recovery (
    explanation_id VARCHAR,
    passage INTEGER,          -- whose citation is masked
    annotator VARCHAR,        -- key; people: one row per person, `person:NAME`
    gold INTEGER[],           -- places of the sentences that cited it, from 0; empty if it was omitted
    predicted INTEGER[],      -- places of the sentences that the annotator chose
    precision DOUBLE,         -- 0 where undefined
    recall DOUBLE,
    f1 DOUBLE,
    chance DOUBLE,            -- F1 expected of as many sentences chosen at random
    scores FLOAT[],           -- one per sentence; NULL where the annotator has none
    sampled BOOLEAN,          -- whether `sample` masks this passage
    helpfulness DOUBLE,       -- a person's slider, 0 to 100; NULL otherwise
    problem VARCHAR,          -- why the answer could not be read; NULL if it could
    seconds FLOAT             -- NULL where that was not measured
);

CREATE TABLE cell_recovery (
    dataset VARCHAR,
    writer VARCHAR,
    selector VARCHAR,
    annotator VARCHAR,        -- people: all of them together
    masking VARCHAR,          -- sample or full
    measure VARCHAR,          -- precision, recall, f1, f1_of_claims, correct_rejection, transparent, unreadable; of explanations
                              -- (annotator empty): omitted, uncited, retrieval_precision, retrieval_recall, retrieval_f1; of
                              -- explainers, and of the truth where it is known (annotator empty): supported, wrong_marker,
                              -- unsupported_sentence, omitted_citation; of explainers against the truth: source,
                              -- source_behind_wrong_marker, no_source
    value DOUBLE,             -- NULL if not available
    low DOUBLE,               -- 95 % interval, claims resampled
    high DOUBLE,
    chance DOUBLE,            -- NULL where that is not defined
    n INTEGER,                -- masked citations, sentences or explanations
    claims INTEGER,           -- claims they belong to
    exceeds VARCHAR[],        -- those whose values its own is above: paired, Holm over all pairs (`evaluation/ranking.py`)
    unavailable VARCHAR       -- why there is no value
);

CREATE TABLE agreement (
    dataset VARCHAR,
    writer VARCHAR,
    selector VARCHAR,
    masking VARCHAR,
    first VARCHAR,            -- annotator; people where all people are one of the two
    second VARCHAR,           -- the same as the first: people among themselves
    alpha DOUBLE,             -- Krippendorff's, with Jaccard distance between sets of sentences
    low DOUBLE,               -- 95 % interval, claims resampled
    high DOUBLE,
    n INTEGER,                -- masked citations that both answered
    unavailable VARCHAR
);

CREATE TABLE person (
    annotator VARCHAR,        -- person:NAME, of everybody who answered in the study with people
    answers INTEGER,          -- to questions, that count; 0 where none of this person's do
    controls INTEGER,         -- control items answered
    correct INTEGER,          -- of these, answered right
    counts BOOLEAN            -- whether enough of them were: a person's answers count, or none of them
);
