import type { Part } from '@millrace/core';
import { reasoningPart } from './answer-parts.ts';

/** The long answer. Each section starts with its own heading. */
const essayTitle = '# How a word gets from a model to your screen';

export const essaySections: readonly string[] = [
  `## 1. Bytes

A model does not send an answer. It sends a stream of bytes, and the answer is what is left when the stream is over. Between the two lie a few seconds in which most programs know less than they show.

The bytes come in reads of whatever size the network likes:

- a read may end in the middle of a word,
- or in the middle of a character, because an umlaut is two bytes,
- or in the middle of a line ending, because that can be two bytes as well,
- and a proxy on the way may join three reads into one, or cut one into three.

So the first rule is that it must not matter how the bytes are cut. In the tests of Millrace every recording is cut at hundreds of places, and the result has to be the same each time.`,

  `## 2. Deltas

Each provider has its own words for what it sends. One says \`content_block_delta\`, another \`response.output_text.delta\`, a third sends JSON with a list of choices of which there is always one. An adapter makes the same few things of all:

| delta | what it says |
| --- | --- |
| \`begin_part\` | a text, a thought or a call begins |
| \`append_text\` | these characters go to this place in it |
| \`append_bytes\` | the same for a picture or a sound |
| \`replace_structured\` | the whole value is now this |
| \`set_metadata\` | something about it is known now |
| \`commit_part\` | it is complete, and so long |
| \`retract_part\` | forget it |

The important word is *place*. An append knows where its characters go. If it comes twice, nothing happens the second time. If one is lost, the next one does not fit, and that is noticed at once.`,

  `## 3. The log

Every delta becomes a record with a number. The record is written first, and told afterwards: to the loop, to the screen, to whoever else follows.

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

What is on your screen was on the disk before. If you pulled the plug now, you would find this sentence again, up to the last word that you saw.`,

  `## 4. The fold

A transcript is not stored anywhere. It is what comes out when the records are folded, one after the other, by one small function:

1. take the state so far,
2. take the next record,
3. give the state after it, or say that a record is missing.

There is no second way to get at a transcript, so there are no two transcripts that could differ. The screen folds, the server folds, a test folds, and all of them see the same.

> One log, one fold, many views.

A state is never changed. Whoever holds one has a picture of the session as it was at that moment, for nothing.`,

  `## 5. The loop

The loop looks at the folded session and decides what comes next. It is a pure function, too: ask the model, run a tool, ask a person, stop. Something else does what was decided.

- A call runs when it is complete and its input fits. It never runs on half a sentence of JSON.
- Calls that change nothing may start while the model still speaks.
- Several calls run side by side, and their results keep the order of the calls.
- Each call gets exactly one result, whatever happens: an error, a denial, a time-out, or the death of the process.

You have seen that before, if you took the tour: four calls, one moment.`,

  `## 6. Stopping

This answer is long on purpose. Press **Esc** now, if you like.

What happens then is worth a look:

1. *aborted* goes onto the log, before anything else.
2. The request is cancelled, and so are the tools.
3. What was said is kept, and marked as partial.
4. Calls that have no result get one which says that they were stopped.

The next request is valid for every provider. Say anything, and I go on with the section in which you stopped me. I do not remember that. It is in the log, and I read it like everybody else.`,

  `## 7. Coming back

Leave this program, by its door or by \`kill -9\`. Then:

\`\`\`sh
millrace --continue          # goes on in this folder
millrace sessions            # lists what there is
millrace replay last         # shows it again, with its timing
millrace inspect last        # shows the records and where the time went
\`\`\`

A second terminal may follow the same session while this one drives it. It sees the same words at the same time, it can stop them, and it can allow or deny what is asked.`,

  `## 8. What it costs

Folding a record costs the same in a session of two items and in one of two thousand. So does drawing it: what is finished is printed once, into the scrollback of your terminal, and never touched again.

| what | grows with the transcript |
| --- | --- |
| folding a record | no |
| drawing a keystroke | no |
| taking a session up again | with its items, not its deltas |
| what a model is sent | yes, until it is summarised |

The last row is why there is \`/compact\`.`,

  `## 9. The end

That is the whole road: bytes, deltas, records, a fold, a loop, a screen. There is no magic in it, and that was the idea.

I am a script, and have told you all I know. A real model knows more: ask me *what are you?* to hear how to get one.`,
];

const headings = essaySections.map((section) => section.split('\n', 1)[0] ?? '');

export function asksForEssay(text: string): boolean {
  return /\b(?:long|longer|story|stories|essay)\b/i.test(text);
}

/**
 * Returns the section in which the essay was interrupted. Undefined if the text is not the essay.
 */
export function interruptedSection(cut: string): number | undefined {
  const last = headings.findLastIndex((heading) => cut.includes(heading));
  return last === -1 && !cut.includes(essayTitle) ? undefined : Math.max(last, 0);
}

export function isEssayFinished(answers: readonly string[]): boolean {
  return answers.some((text) => text.includes(headings.at(-1) ?? essayTitle));
}

/** Returns the essay from a section on. An interrupted section starts again. */
export function essayParts(section: number): readonly (Part | string)[] {
  const title = section === 0 ? [essayTitle] : [];
  const thinking =
    section === 0
      ? 'A long answer it is. It should have what long answers have: headings, lists, a table and some code. And it should be worth stopping.'
      : `I was stopped in ${headings[section] ?? 'the middle'}. I read that in the transcript, and go on with this section.`;
  return [reasoningPart(thinking), `${[...title, ...essaySections.slice(section)].join('\n\n')}\n`];
}
