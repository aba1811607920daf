//! What the demo tells: a support agent of a company that lets holiday homes.

use super::{Scene, Typed};

const fn done(time: &'static str, line: &'static str) -> Typed {
    Typed { line, time, exit: 0 }
}

/// A command whose answer is no.
const fn no(time: &'static str, line: &'static str) -> Typed {
    Typed { line, time, exit: 1 }
}

pub(super) const STORY: &[Scene] = &[
    Scene {
        title: "A first fact, with its source",
        says: "A company lets holiday homes, and an agent answers its guests. What the agent \
               learns about stay H27 it writes down, with where it came from.",
        commands: &[
            done("2026-06-01T09:00Z", "mnem init --reproducible"),
            done(
                "2026-06-01T09:05Z",
                "mnem remember stay:H27:dog 'one dog may come' \\\n    \
                 --source 'booking form' --author intake -m 'read the booking form'",
            ),
        ],
    },
    Scene {
        title: "A second line of memory",
        says: "The phone desk asks the owner. What it hears goes on a branch of its own: nobody \
               waits for anybody.",
        commands: &[done(
            "2026-06-01T14:10Z",
            "mnem remember stay:H27:dog 'one dog may come, the owner agreed' \\\n    \
             --source 'call at 14:10' --author phone-desk --branch phone-desk \\\n    \
             -m 'asked the owner'",
        )],
    },
    Scene {
        title: "A note is misread",
        says: "At night a housekeeping note about H72 comes in. The agent takes it for H27.",
        commands: &[done(
            "2026-06-01T23:30Z",
            "mnem remember stay:H27:dog 'no dogs' \\\n    \
             --source 'note 88' --observation 'H72: new carpet, no dogs' \\\n    \
             --author night-run -m 'read the notes'",
        )],
    },
    Scene {
        title: "Life goes on",
        says: "More is learnt. The form is read once more, and the next night the note is too.",
        commands: &[
            done(
                "2026-06-02T08:15Z",
                "mnem remember stay:H27:arrival 'after 18:00' --source chat --author intake",
            ),
            done(
                "2026-06-02T10:40Z",
                "mnem remember stay:H27:dog 'one dog may come' \\\n    \
                 --source 'booking form' --author intake -m 'read the form again'",
            ),
            done(
                "2026-06-02T16:20Z",
                "mnem remember stay:H27:cot 'in the small room' --source chat --author intake",
            ),
            done(
                "2026-06-02T23:30Z",
                "mnem remember stay:H27:dog 'no dogs' \\\n    \
                 --source 'note 88' --observation 'H72: new carpet, no dogs' \\\n    \
                 --author night-run -m 'read the notes again'",
            ),
            done(
                "2026-06-03T09:00Z",
                "mnem remember stay:H27:parking 'behind the barn' --source chat --author intake",
            ),
        ],
    },
    Scene {
        title: "The guest disputes it",
        says: "\u{201c}You wrote that the dog cannot come. We booked with a dog!\u{201d} What does the \
               agent believe, since when, and did it ever waver?",
        commands: &[
            done("2026-06-05T09:00Z", "mnem get stay:H27:dog"),
            done("2026-06-05T09:01Z", "mnem bisect --node stay:H27:dog --equals '\"no dogs\"'"),
        ],
    },
    Scene {
        title: "Who told it so?",
        says: "The belief on this branch, and what the phone desk's branch says. One stands on a \
               note about another house.",
        commands: &[
            done("2026-06-05T09:02Z", "mnem blame stay:H27:dog"),
            done("2026-06-05T09:03Z", "mnem blame stay:H27:dog phone-desk"),
        ],
    },
    Scene {
        title: "The two lines meet",
        says: "Both changed the same memory. That is a conflict with a type, and nobody's \
               answer is thrown away in silence.",
        commands: &[no("2026-06-05T09:04Z", "mnem merge phone-desk")],
    },
    Scene {
        title: "Decided by where it came from",
        says: "The owner's word weighs more than a note about H72. The answer keeps its source: \
               blame goes through the merge to the call.",
        commands: &[
            done(
                "2026-06-05T09:05Z",
                "mnem merge phone-desk --resolve stay:H27:dog=theirs \\\n    \
                 --author guest-care -m 'the owner outweighs a note about H72'",
            ),
            done("2026-06-05T09:06Z", "mnem get stay:H27:dog"),
            done("2026-06-05T09:07Z", "mnem blame stay:H27:dog"),
        ],
    },
    Scene {
        title: "Nothing is lost",
        says: "The whole history, the mistake included; every object is hashed again.",
        commands: &[
            done("2026-06-05T09:08Z", "mnem log --graph --oneline"),
            done("2026-06-05T09:09Z", "mnem verify"),
        ],
    },
];
