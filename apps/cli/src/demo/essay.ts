import type { Part } from '@millrace/core';
import { reasoningPart } from './answer-parts.ts';

/** The title of the long answer. Below it, each section has its own heading. */
const essayTitle = '# How text gets from a model to your screen';

export const essaySections: readonly string[] = [
  `## 1. Bytes

A model does not send a finished answer. It sends a stream of bytes, and the answer is complete when the stream ends. In the seconds between, a program must handle an unfinished answer.

The bytes arrive in chunks of any size:

- a chunk may end in the middle of a word,
- or in the middle of a character, because an umlaut is two bytes,
- or in the middle of a line ending, because that can be two bytes as well,
- and a proxy on the way may join three chunks into one, or split one into three.

So the result must not depend on where the bytes are split. The tests of Millrace split every recording at hundreds of positions, and the result must always be the same.`,

  `## 2. Deltas

Each provider has its own format. One sends \`content_block_delta\`, another \`response.output_text.delta\`, a third sends a list of choices that always has one entry. An adapter converts all of them to the same few deltas:

| delta | meaning |
| --- | --- |
| \`begin_part\` | a text, a reasoning or a tool call starts |
| \`append_text\` | these characters belong at this position |
| \`append_bytes\` | the same for an image or audio |
| \`replace_structured\` | this is the new value |
| \`set_metadata\` | new metadata of the part |
| \`commit_part\` | the part is complete, with this length |
| \`retract_part\` | remove the part |

The important word is *position*. An append contains the position of its characters. A duplicate has no effect. If one is lost, the next one does not fit, and the error is detected at once.`,

  `## 3. The log

Every delta becomes a numbered record. The record is stored first and published afterwards: to the loop, to the screen and to all other subscribers.

\`\`\`ts
import { createAgent } from '@millrace/agent';
import { anthropic } from '@millrace/providers';

const agent = createAgent({
  provider: anthropic({ model: 'claude-sonnet-5-5' }),
  instructions: 'Be brief.',
});

const run = agent.run('Why is the sky blue?');

for await (const event of run.events) {
  if (event.type === 'assistant_text_delta') process.stdout.write(event.text);
}

const { stop, usage } = await run.result;
console.log(stop.reason, usage.output);
\`\`\`

Everything on your screen is already on the disk. After a power failure you would find this sentence again, up to the last word that you saw.`,

  `## 4. The fold

A transcript is not stored. It is computed from the records by one small function, the fold:

1. take the state so far,
2. take the next record,
3. return the next state, or report that a record is missing.

There is no other way to compute a transcript, so two transcripts cannot differ. The screen, the server and the tests use the same fold and see the same result.

> One log, one fold, many views.

A state is immutable. Each state is a snapshot of the session at one moment, at no extra cost.`,

  `## 5. The loop

The loop reads the folded session and decides on the next step: call the model, run a tool, ask the user, or stop. It is a pure function, too. A driver executes the decision.

- A call runs when it is complete and its input is valid. It never runs on partial JSON.
- Calls that change nothing may start while the model is still streaming.
- Several calls run in parallel, and their results keep the order of the calls.
- Each call gets exactly one result, whatever happens: an error, a denial, a timeout, or a crash of the process.

The tour showed that: four calls at the same time.`,

  `## 6. Stopping

This answer is long on purpose. Press **Esc** now, if you like.

This is what happens then:

1. *aborted* is recorded in the log first.
2. The request and the tools are cancelled.
3. The text so far is stored and marked as partial.
4. Calls without a result get one that says that they were stopped.

The next request is valid for every provider. Type anything, and I continue with the section in which you stopped me. I have no memory of it. I read it in the log.`,

  `## 7. Resuming

Quit this program, or stop it with \`kill -9\`. Then:

\`\`\`sh
millrace --continue          # continues the last session
millrace sessions            # lists all sessions
millrace replay last         # replays it with its timing
millrace inspect last        # shows the records, time and tokens
\`\`\`

A second terminal can follow the same session while this one drives it. It shows the same text at the same time, can stop it, and can approve or deny calls.`,

  `## 8. What it costs

Folding a record costs the same in a session of two items and in one of two thousand. So does drawing: finished text is printed once into the scrollback of your terminal and never drawn again.

| operation | cost grows with the transcript |
| --- | --- |
| folding a record | no |
| drawing a keystroke | no |
| resuming a session | with its items, not its deltas |
| the context of a request | yes, until it is summarized |

The last row is the reason for \`/compact\`.`,

  `## 9. The end

That is the whole path: bytes, deltas, records, a fold, a loop, a screen.

I am a script, and this is the end of my text. Ask *what are you?* to learn how to use a real model.`,
];

const headings = essaySections.map((section) => section.split('\n', 1)[0] ?? '');

export function asksForEssay(text: string): boolean {
  return /\b(?:long|longer|story|stories|essay)\b/i.test(text);
}

/**
 * Returns the index of the section that was interrupted. Returns undefined if the text is not the
 * essay.
 */
export function interruptedSection(cut: string): number | undefined {
  const last = headings.findLastIndex((heading) => cut.includes(heading));
  return last === -1 && !cut.includes(essayTitle) ? undefined : Math.max(last, 0);
}

export function isEssayFinished(answers: readonly string[]): boolean {
  return answers.some((text) => text.includes(headings.at(-1) ?? essayTitle));
}

/**
 * Returns the part of the essay that begins with the section of this index. An interrupted section
 * is written again from its start.
 */
export function essayParts(section: number): readonly (Part | string)[] {
  const title = section === 0 ? [essayTitle] : [];
  const thinking =
    section === 0
      ? 'The user wants a long answer. It should contain headings, lists, a table and some code, and be long enough to interrupt.'
      : `I was stopped in ${headings[section] ?? 'the middle'}. The transcript shows that, so I continue with this section.`;
  return [reasoningPart(thinking), `${[...title, ...essaySections.slice(section)].join('\n\n')}\n`];
}
