import { type AgentEvent, Folder, type Item, sessionId, transcript } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  LogBuilder,
  type ObservedRecord,
  stop,
} from '../../../../packages/agent/src/testing/log-builder.ts';
import { runs } from '../../../../packages/core/src/testing/runs.ts';
import { type AnswerOutput, AnswerStream } from './answer-stream.ts';

const stepsOf = (told: readonly ObservedRecord[]): readonly AnswerOutput[] => {
  const answer = new AnswerStream();
  return told.flatMap(({ events }) => events.map((event: AgentEvent) => answer.add(event)));
};

/** Returns the output. A mark shows where the answer starts again. */
const outputOf = ({ observed: told }: LogBuilder): string =>
  stepsOf(told)
    .map(({ text, restart }) => (restart === undefined ? text : `${text}⟲${restart}`))
    .join('');

/** Returns the answer of each turn in the transcript. Turns without an answer are skipped. */
function answersIn({ records }: LogBuilder): readonly string[] {
  const folder = new Folder(sessionId('test'));
  for (const record of records) folder.add(record);
  const textOf = ({ parts }: Item) =>
    parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
  return transcript(folder.state)
    .map(textOf)
    .filter((text) => text !== '')
    .map((text) => (text.endsWith('\n') ? text : `${text}\n`));
}

/** Returns the output of each turn after its last restart, without the empty line before it. */
function countedIn({ observed: told }: LogBuilder): readonly string[] {
  const answer = new AnswerStream();
  const turns = new Map<number, string>();
  for (const { record, events } of told)
    for (const event of events) {
      const { text, restart } = answer.add(event);
      const before = turns.get(record.turn);
      const isFirst = before === undefined && turns.size > 0;
      const said = restart ?? (before ?? '') + (isFirst ? text.replace(/^\n/, '') : text);
      if (text !== '' || restart !== undefined) turns.set(record.turn, said);
    }
  return [...turns.values()].filter((text) => text !== '');
}

/** Adds one attempt at the request of a turn. Its text arrives in pieces. */
function attempt(
  story: LogBuilder,
  turn: number,
  number: number,
  pieces: readonly string[],
): LogBuilder {
  const writer = story.at(turn, number).request();
  const text = writer.text();
  for (const piece of pieces) text.append(piece);
  text.commit();
  return story.take(writer);
}

const finish = (story: LogBuilder) =>
  story.fact({ type: 'response_finished', itemId: story.lastItem, stop, usage: noUsage });
const noUsage = {
  ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
  ...{ estimated: false, costs: [] },
};
const supersede = (story: LogBuilder) =>
  story.fact({ type: 'attempt_superseded', reason: 'server' });

describe('the answer', () => {
  test('is written piece by piece, and its line is ended', () => {
    const story = finish(attempt(new LogBuilder(), 1, 1, ['It ', 'turns.']));
    const texts = stepsOf(story.observed).map(({ text }) => text);
    expect(texts.filter((text) => text !== '')).toEqual(['It ', 'turns.', '\n']);
  });

  test('has a blank line between what two turns say, and none for a turn that says nothing', () => {
    const story = finish(attempt(new LogBuilder(), 1, 1, ['I look.']));
    finish(attempt(story, 2, 1, []));
    finish(attempt(story, 3, 1, ['It turns.\n']));
    expect(outputOf(story)).toBe('I look.\n\nIt turns.\n');
  });

  test('is neither what people say nor what is thought, called, summarised or answered by tools', () => {
    const story = new LogBuilder();
    const user = story.item('user');
    user.whole({ kind: 'text', text: 'A question' });
    story.take(user).at(1, 1);
    const writer = story.request();
    const thought = writer.reasoning();
    thought.append('Hm');
    thought.commit();
    story.take(writer);
    const tool = story.item('tool');
    tool.whole({ kind: 'text', text: 'a result' });
    story.take(tool);
    expect(outputOf(story)).toBe('');
  });

  test('is written too where it comes whole', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    writer.whole({ kind: 'text', text: 'At once' });
    expect(outputOf(finish(story.take(writer)))).toBe('At once\n');
  });

  test('of parts that stream at once has one after the other', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    const [one, two] = [writer.text(), writer.text()];
    one.append('a');
    two.append('1');
    one.append('b');
    two.commit();
    one.commit();
    expect(outputOf(finish(story.take(writer)))).toBe('ab1\n');
  });

  test('that is replaced when it is whole is completed, or begun anew', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    const text = writer.text();
    text.append('It tu');
    text.replace({ kind: 'text', text: 'It turns.' });
    const other = writer.text();
    other.append(' Slowly');
    other.replace({ kind: 'text', text: ' Fast' });
    expect(outputOf(finish(story.take(writer)))).toBe('It turns. Slowly\n⟲It turns. Fast\n');
  });
});

describe('an attempt that is tried again', () => {
  test('is not written twice where the next one says the same', () => {
    const story = supersede(attempt(new LogBuilder(), 1, 1, ['It tu']));
    finish(attempt(story, 1, 2, ['It', ' turns.']));
    expect(outputOf(story)).toBe('It turns.\n');
  });

  test('begins anew on a line of its own at the first difference', () => {
    const story = supersede(attempt(new LogBuilder(), 1, 1, ['It tu']));
    finish(attempt(story, 1, 2, ['It ', 'stands.']));
    expect(outputOf(story)).toBe('It tu\n⟲It stands.\n');
  });

  test('begins anew where the next one says less', () => {
    const story = supersede(attempt(new LogBuilder(), 1, 1, ['It turns.']));
    finish(attempt(story, 1, 2, ['It']));
    expect(outputOf(story)).toBe('It turns.\n⟲It\n');
  });

  test('that had said nothing leaves no trace', () => {
    const story = supersede(attempt(new LogBuilder(), 1, 1, []));
    finish(attempt(story, 1, 2, ['It turns.']));
    expect(outputOf(story)).toBe('It turns.\n');
  });

  test('is only about its own turn', () => {
    const story = finish(attempt(new LogBuilder(), 1, 1, ['I look.']));
    supersede(attempt(story, 2, 1, ['It tu']));
    finish(attempt(story, 2, 2, ['It turns.']));
    expect(outputOf(story)).toBe('I look.\n\nIt turns.\n');
  });
});

test('after the last mark of a turn, the output is what the transcript says', () => {
  const pieces = fc.array(fc.constantFrom('a', 'b', 'ab', '\n'), { maxLength: 6 });
  const turns = fc.array(fc.array(pieces, { minLength: 1, maxLength: 4 }), { maxLength: 4 });
  fc.assert(
    fc.property(turns, (all) => {
      const story = new LogBuilder();
      for (const [turn, attempts] of all.entries()) {
        for (const [number, said] of attempts.entries()) {
          attempt(story, turn + 1, number + 1, said);
          if (number + 1 < attempts.length) supersede(story);
        }
        finish(story);
      }
      expect(countedIn(story)).toEqual(answersIn(story));
    }),
    { numRuns: runs(500) },
  );
});
