import { executionId, type Fact, runId, sessionId, toolCallId, transcript } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldAll } from '../../../../core/src/testing/fold-all.ts';
import { randomLog } from '../../../../core/src/testing/random-log.ts';
import { runs } from '../../../../core/src/testing/runs.ts';
import {
  LogBuilder,
  notifyAll,
  type ObservedRecord,
  observedRecords,
  stop,
  usage,
} from '../../testing/log-builder.ts';
import { type TerminalOptions, terminalObserver } from './terminal-observer.ts';

/** The screen after each record. */
function writesOf(
  told: readonly ObservedRecord[],
  options: Partial<TerminalOptions> = {},
): readonly string[] {
  const writes: string[] = [];
  const observer = terminalObserver({ write: (text) => writes.push(text), ...options });
  notifyAll(observer, told);
  return writes;
}

const screenOf = (told: readonly ObservedRecord[], options?: Partial<TerminalOptions>): string =>
  writesOf(told, options).join('');

const started = (name: string, summary = name): Fact => ({
  type: 'tool_execution_started',
  ...callOf(name),
  summary,
});
const finished = (
  name: string,
  isError = false,
  outcome: 'completed' | 'discarded' | 'lost' = 'completed',
): Fact => ({ type: 'tool_execution_finished', ...callOf(name), isError, outcome });
const callOf = (name: string) => ({
  toolCallId: toolCallId(`call ${name}`),
  name,
  executionId: executionId(`execution ${name}`),
});

describe('model output', () => {
  test('is printed while it streams', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    const text = writer.text();
    for (const piece of ['Let me ', 'check', '.']) text.append(piece);
    text.commit();
    expect(writesOf(story.take(writer).observed)).toEqual(['Let me ', 'check', '.', '\n']);
  });

  test('is dimmed for reasoning, or labelled without colors', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    const thought = writer.reasoning();
    thought.append('Hmm, ');
    thought.append('well');
    thought.commit();
    const text = writer.text();
    text.append('Yes');
    text.commit();
    const { observed: told } = story.take(writer);
    expect(screenOf(told)).toBe('(thinking) Hmm, well\nYes\n');
    expect(screenOf(told, { color: true })).toBe(
      '\u001b[2mHmm, \u001b[22m\u001b[2mwell\u001b[22m\nYes\n',
    );
  });

  test('is printed if it arrives whole', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    writer.whole({ kind: 'text', text: 'All at once' });
    expect(screenOf(story.take(writer).observed)).toBe('All at once\n');
  });

  test('does not include user input, tool arguments and tool results', () => {
    const story = new LogBuilder();
    const user = story.item('user');
    const said = user.text();
    said.append('my question');
    said.commit();
    user.whole({ kind: 'text', text: 'my second question' });
    story.take(user).at(1, 1);
    const writer = story.request();
    const call = writer.toolCall(toolCallId('c'), 'read');
    call.append('{"path":"secret"}');
    call.commit();
    story.take(writer);
    const tool = story.item('tool');
    const result = tool.toolResult(toolCallId('c'), 'read');
    result.append('reading');
    result.commit();
    expect(screenOf(story.take(tool).observed)).toBe('');
  });

  test('includes a notification that continues after a turn', () => {
    const story = new LogBuilder();
    const writer = story.item('notification');
    const text = writer.text();
    text.append('The disk ');
    story.take(writer).at(1).fact({ type: 'turn_finished', stop }).at(0);
    text.append('is full');
    text.commit();
    writer.whole({ kind: 'text', text: 'Again' });
    expect(screenOf(story.take(writer).observed)).toBe('The disk is full\nAgain\n');
  });

  test('includes notifications', () => {
    const story = new LogBuilder();
    const writer = story.item('notification');
    const text = writer.text();
    text.append('The disk is full');
    text.commit();
    expect(screenOf(story.take(writer).observed)).toBe('The disk is full\n');
  });
});

describe('several parts at once', () => {
  test('are printed one after the other, each in one piece', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    const [one, two] = [writer.text(), writer.text()];
    for (const at of [1, 2, 3]) {
      one.append(`one${at} `);
      two.append(`two${at} `);
    }
    two.commit();
    one.append('end');
    one.commit();
    expect(screenOf(story.take(writer).observed)).toBe('one1 one2 one3 end\ntwo1 two2 two3 \n');
  });

  test('do not delay the answer because of open reasoning', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    const thought = writer.reasoning();
    thought.append('Hmm');
    const text = writer.text();
    text.append('Yes');
    thought.append(' and more');
    text.append(', sure');
    text.commit();
    thought.commit();
    expect(screenOf(story.take(writer).observed)).toBe('(thinking) Hmm\nYes, sure\n…  and more\n');
  });

  test('do not wait for a silent part', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    const [silent, other] = [writer.text(), writer.text()];
    silent.append('I was saying');
    for (let at = 0; at < 5; at++) other.append('12345 ');
    silent.append('that');
    story.take(writer);
    const writes = writesOf(story.observed, { columns: 20 });
    expect(writes).toEqual(['I was saying', '\n12345 12345 12345 12345 ', '12345 ']);
    other.commit();
    silent.commit();
    expect(screenOf(story.take(writer).observed, { columns: 20 })).toBe(
      'I was saying\n12345 12345 12345 12345 12345 \n… that\n',
    );
  });

  test('of two sessions are kept apart, even with the same ids', () => {
    const storyOf = (name: string) => {
      const story = new LogBuilder(sessionId(name)).at(1, 1);
      const writer = story.request();
      const text = writer.text();
      for (const at of [1, 2]) text.append(`${name}${at} `);
      text.commit();
      return story.take(writer).observed;
    };
    const [a, b] = [storyOf('a'), storyOf('b')];
    const mixed = a.flatMap((told, at) => [told, ...b.slice(at, at + 1)]);
    expect(screenOf(mixed)).toBe('a1 a2 \nb1 b2 \n');
  });

  test('never share a line', () => {
    const steps = fc.array(
      fc.record({ part: fc.nat(3), text: fc.stringMatching(/^[ \n]{0,2}$/) }),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(steps, fc.integer({ min: 5, max: 40 }), (all, columns) => {
        const story = new LogBuilder().at(1, 1);
        const writer = story.request();
        const parts = [0, 1, 2, 3].map((at) => (at % 2 ? writer.reasoning() : writer.text()));
        const said = parts.map(() => '');
        for (const { part, text } of all) {
          const piece = `<${part}>${text}`;
          parts[part]?.append(piece);
          said[part] += piece;
          story.take(writer);
        }
        for (const part of parts) part.commit();
        const screen = screenOf(story.take(writer).observed, { columns });
        const lines = screen.split('\n').map((line) => [...line.matchAll(/<(\d)>/g)]);
        for (const line of lines)
          expect(new Set(line.map(([, part]) => part)).size).toBeLessThan(2);
        for (const part of [0, 1, 2, 3]) {
          const shown = lines.flat().filter(([, of]) => of === `${part}`);
          expect(shown).toHaveLength(all.filter((step) => step.part === part).length);
        }
      }),
      { numRuns: runs(300) },
    );
  });
});

describe('a tool execution', () => {
  test('is one line with its summary and its outcome', () => {
    const story = new LogBuilder().at(1, 1);
    story.fact(started('read', 'read src/a.ts'), finished('read'));
    story.fact(started('bash', 'npm test'), finished('bash', true));
    story.fact(started('ls'), finished('ls', true, 'discarded'));
    story.fact(started('grep'), finished('grep', true, 'lost'));
    expect(screenOf(story.observed)).toBe(
      '▸ read src/a.ts ✓\n▸ npm test ✗ failed\n▸ ls ∅ discarded\n▸ grep ✗ lost\n',
    );
  });

  test('is printed when it starts', () => {
    const writes = writesOf(new LogBuilder().at(1, 1).fact(started('ls'), finished('ls')).observed);
    expect(writes).toEqual(['▸ ls', ' ✓\n']);
  });

  test('shows its duration if it was long', () => {
    const story = new LogBuilder().at(1, 1).fact(started('build'));
    for (let at = 0; at < 19; at++) story.fact({ type: 'turn_started' });
    expect(screenOf(story.fact(finished('build')).observed)).toBe('▸ build ✓ 2.0 s\n');
  });

  test('among other output has its outcome on a line of its own', () => {
    const story = new LogBuilder().at(1, 1);
    story.fact(started('one'), started('two'), finished('one'), finished('two'));
    expect(screenOf(story.observed)).toBe('▸ one …\n▸ two …\n▸ one ✓\n▸ two ✓\n');
  });

  test('stays on one line, whatever its summary contains', () => {
    const summary = `rm \u001b[2K\r\n-rf \u202e${'x'.repeat(500)}`;
    const screen = screenOf(
      new LogBuilder().at(1, 1).fact(started('bash', summary), finished('bash')).observed,
      { columns: 40 },
    );
    expect(screen).toBe('▸ rm ␛[2K -rf \ufffdxxxxxx… ✓\n');
  });

  test('that starts in the middle of a sentence is on a line of its own', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    const text = writer.text();
    text.append('I look in');
    story.take(writer).fact(started('ls'));
    text.append('to it');
    story.take(writer).fact(finished('ls'));
    text.append(' now');
    text.commit();
    expect(screenOf(story.take(writer).observed)).toBe(
      'I look in\n▸ ls …\n… to it\n▸ ls ✓\n…  now\n',
    );
  });

  test('whose start was not observed is shown by its name', () => {
    const { observed: told } = new LogBuilder()
      .at(1, 1)
      .fact(started('ls', 'ls .'), finished('ls'));
    expect(screenOf(told.slice(1))).toBe('▸ ls ✓\n');
  });
});

describe('retracted output', () => {
  const speak = (words: string) => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    const text = writer.text();
    text.append(words);
    return { story, writer, text };
  };

  test('is marked, during the stream and later', () => {
    const { story, writer, text } = speak('Wrong');
    text.retract('withdrawn');
    const other = writer.text();
    other.append('Also wrong');
    other.commit();
    story.take(writer);
    writer.retract(other.partId, 'withdrawn');
    expect(screenOf(story.take(writer).observed)).toBe(
      'Wrong\n⌫ taken back (withdrawn) “Wrong”\n' +
        'Also wrong\n⌫ taken back (withdrawn) “Also wrong”\n',
    );
  });

  test('is not marked if it was never printed', () => {
    const { story, writer, text } = speak('Shown');
    const hidden = writer.text();
    hidden.append('waits');
    hidden.retract('cut');
    const call = writer.toolCall(toolCallId('c'), 'ls');
    call.append('{');
    call.retract('cut');
    text.commit();
    expect(screenOf(story.take(writer).observed)).toBe('Shown\n');
  });

  test('is marked when another attempt supersedes it, and the new text starts on a new line', () => {
    const { story, writer, text } = speak('First tr');
    text.append('y');
    story.take(writer).fact({ type: 'attempt_superseded', reason: 'overloaded' }).at(1, 2);
    const again = story.request();
    const second = again.text();
    second.append('Second try');
    second.commit();
    expect(screenOf(story.take(again).observed)).toBe(
      'First try\n↺ attempt 1 is superseded (overloaded): what it said does not count\nSecond try\n',
    );
  });

  test('is printed again if it is replaced, unless it only grew', () => {
    const { story, writer, text } = speak('Hello');
    text.replace({ kind: 'text', text: 'Hello there' });
    const other = writer.text();
    other.append('Bye');
    other.replace({ kind: 'text', text: 'Good night' });
    expect(screenOf(story.take(writer).observed)).toBe(
      'Hello there\nBye\n⌫ taken back (replaced by what follows) “Bye”\nGood night\n',
    );
  });
});

describe('facts', () => {
  const lineOf = (...facts: readonly Fact[]) =>
    screenOf(new LogBuilder().at(1, 1).fact(...facts).observed);

  test('are one line each: errors, retries, aborts, approvals, rejections', () => {
    const error = { code: 'overloaded', message: 'Try\nlater' };
    const call = { toolCallId: toolCallId('c'), name: 'bash' };
    expect(lineOf({ type: 'error_reported', error })).toBe('✗ overloaded: Try later\n');
    expect(lineOf({ type: 'retry_scheduled', error, delayMs: 1500 })).toBe(
      '↻ overloaded, once more in 1.5 s: Try later\n',
    );
    expect(lineOf({ type: 'aborted', reason: 'by the user' })).toBe('■ aborted: by the user\n');
    expect(lineOf({ type: 'aborted' })).toBe('■ aborted\n');
    expect(lineOf({ type: 'approval_asked', ...call, reason: 'it writes' })).toBe(
      '? bash waits for approval: it writes\n',
    );
    expect(lineOf({ type: 'approval_answered', ...call, decision: 'deny', by: 'Ada' })).toBe(
      '? bash was denied by Ada\n',
    );
    expect(
      lineOf({ type: 'tool_call_rejected', ...call, code: 'invalid', message: 'path is missing' }),
    ).toBe('✗ bash was not run (invalid): path is missing\n');
  });

  test('end with the stop reason, its cause and the provider’s raw reason', () => {
    const id = runId('r');
    const end = (stop: Parameters<typeof finish>[0]) => lineOf(finish(stop));
    const finish = (stop: Extract<Fact, { type: 'run_finished' }>['stop']): Fact => ({
      type: 'run_finished',
      runId: id,
      stop,
    });
    expect(end({ reason: 'stop', raw: 'stop' })).toBe('— stop\n');
    expect(end({ reason: 'length', raw: 'max_tokens' })).toBe('— length (max_tokens)\n');
    expect(end({ reason: 'aborted', cause: 'interrupted' })).toBe('— aborted (interrupted)\n');
  });

  test('after an abort show the partial text and where it ended', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    const text = writer.text();
    text.append('I was about to');
    story.take(writer).fact({ type: 'aborted' });
    text.commit({ partial: true });
    const aborted = { reason: 'aborted' } as const;
    story
      .take(writer)
      .fact({ type: 'turn_finished', stop: aborted })
      .fact({ type: 'run_finished', runId: runId('r'), stop: aborted });
    expect(screenOf(story.observed)).toBe('I was about to\n■ aborted\n— aborted\n');
  });

  test('at the end of a run flush all waiting texts', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    writer.text().append('one');
    writer.text().append('two');
    story.take(writer).fact({ type: 'run_finished', runId: runId('r'), stop });
    expect(screenOf(story.observed)).toBe('one\ntwo\n— stop\n');
  });
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what may
const ourColors = /\u001b\[(2|22|3[1-3]|39)m/g;

describe('the terminal', () => {
  const escapes = '\u001b[2J\u001b]52;c;ZXZpbA==\u0007\u009b31m\b\u007f';

  test('gets no control characters from models or tools', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    for (const part of [writer.text(), writer.reasoning()]) {
      part.append(`a${escapes}\r\n\tb`);
      part.commit();
    }
    writer.whole({ kind: 'text', text: escapes });
    writer.whole({ kind: 'structured', value: { [escapes]: escapes } });
    const gone = writer.text();
    gone.append(escapes);
    gone.retract(escapes);
    story.take(writer);
    const call = { toolCallId: toolCallId('c'), name: escapes };
    const error = { code: escapes, message: escapes };
    story.fact(
      { type: 'error_reported', error },
      { type: 'retry_scheduled', error, delayMs: 1 },
      { type: 'aborted', reason: escapes },
      { type: 'tool_call_rejected', ...call, code: 'invalid', message: escapes },
      { type: 'approval_asked', ...call, reason: escapes },
      { type: 'approval_answered', ...call, decision: 'allow', by: escapes, reason: escapes },
      { type: 'handed_off', to: escapes, reason: escapes },
      { ...finished('x'), name: escapes } as Fact,
      started('y', escapes),
      finished('y'),
      { type: 'attempt_superseded', reason: escapes },
      { type: 'run_finished', runId: runId('r'), stop: { reason: 'error', cause: escapes } },
    );
    expect(screenOf(story.observed)).not.toMatch(controls);
    const colored = screenOf(story.observed, { color: true });
    expect(colored.replaceAll(ourColors, '')).not.toMatch(controls);
  });

  test('shows each final text of the assistant in one piece, except for lines between', () => {
    const seeds = fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 200, size: 'max' });
    fc.assert(
      fc.property(seeds, (seed) => {
        const records = randomLog(seed);
        // A run's end closes all its texts, so this test has only one, at the end.
        const told = observedRecords(records).filter(
          ({ record }) => record.fact?.type !== 'run_finished',
        );
        told.push(
          ...new LogBuilder().fact({ type: 'run_finished', runId: runId('r'), stop }).observed,
        );
        const screen = screenOf(told, { columns: 10_000 });
        const marks = records.filter(({ fact }) => fact?.type === 'attempt_superseded').length;
        expect(screen.match(/^↺ attempt/gm)?.length ?? 0).toBe(marks);
        const said = compact(screen.replace(/^(?:[↺⌫—].*|\[.*\])$/gm, '').replace(/^… /gm, ''));
        for (const { kind, parts } of transcript(foldAll(records)))
          for (const part of parts)
            if (kind === 'assistant' && part.kind === 'text')
              expect(said).toContain(compact(part.text));
      }),
      { numRuns: runs(300) },
    );
  });

  test.each([0, -1, Number.NaN])('cannot have %s columns', (columns) => {
    expect(() => terminalObserver({ write: () => {}, columns })).toThrow(
      /columns must be at least 1/,
    );
  });
});

const compact = (text: string) => text.replaceAll(/\s/g, '');

test('usage is not printed', () => {
  const story = new LogBuilder().at(1, 1).fact({ type: 'usage_reported', usage: usage(1, 2) });
  expect(screenOf(story.observed)).toBe('');
});
