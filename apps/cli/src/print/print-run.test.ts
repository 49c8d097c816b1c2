import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { defineTool } from '@millrace/agent';
import { type Item, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { UsageError } from '../contract/errors.ts';
import { exitCodes } from '../exit-code.ts';
import { findSession } from '../store/session-summaries.ts';
import { CapturedOutput, FailingOutput } from '../testing/output-streams.ts';
import {
  builtAgentWith,
  cwd,
  eventsIn,
  type PrintResult,
  type RunPrintOptions,
  runPrint,
  toolCall,
} from '../testing/run-print.ts';
import { AnswerStream } from './answer-stream.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'print-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const look = defineTool({
  ...{ name: 'look', description: 'Looks', effects: 'none' as const },
  input: z.object({}),
  summarize: () => 'look at the weather',
  execute: async () => 'It turns.',
});
const says = (...parts: readonly (string | ReturnType<typeof toolCall>)[]): ScriptEntry => ({
  content: { parts },
});
const withTool = {
  script: [says('I look.', toolCall('c1', 'look', {})), says('It turns.')],
  agent: { tools: [look] },
} satisfies RunPrintOptions;

async function itemsOf({ log, session }: Pick<PrintResult, 'log' | 'session'>) {
  return transcript(await snapshot(log, session));
}

const textOf = (item: Item | undefined) =>
  item?.parts.map((part) => ('text' in part ? part.text : '')).join('') ?? '';

describe('standard output', () => {
  test('has the answer and nothing else, and standard error nothing where nobody watches', async () => {
    const { code, stdout, stderr } = await runPrint(withTool);
    expect({ code, stdout, stderr }).toEqual({
      code: exitCodes.done,
      stdout: 'It turns.\n',
      stderr: '',
    });
  });

  test('23.7: has what was said between tools only with --stream all', async () => {
    expect((await runPrint(withTool)).stdout).toBe('It turns.\n');
    const all = await runPrint({ ...withTool, args: { stream: 'all' } });
    expect(all.stdout).toBe('I look.\n\nIt turns.\n');
  });

  test('23.7: has all of an answer that the provider paused', async () => {
    const paused: ScriptEntry = { content: { parts: ['It tur'] }, stop: 'pause' };
    const { stdout } = await runPrint({
      script: [...withTool.script.slice(0, 1), paused, 'ns.'],
      agent: { tools: [look] },
    });
    expect(stdout).toBe('It turns.\n');
  });

  test('gets the answer as it streams, while the model still speaks', async () => {
    const stop = new AbortController();
    const stdout = new CapturedOutput();
    const fault = { type: 'stall', after: 5 } as const;
    const script = [{ content: { parts: ['It turns.'] }, fault }];
    const printing = runPrint({ script, stdout, signal: stop.signal, args: { stream: 'all' } });
    while (stdout.text !== 'It tu') await new Promise(setImmediate);
    stop.abort();
    await printing;
  });

  test('as JSONL has the events, which fold to the answer that is printed without', async () => {
    const plain = await runPrint({ ...withTool, args: { stream: 'all' } });
    const { stdout, stderr, code } = await runPrint({ ...withTool, args: { json: true } });
    const events = eventsIn(stdout);
    const answer = new AnswerStream();
    expect(events.map((event) => answer.add(event).text).join('')).toBe(plain.stdout);
    const messages = events.flatMap((event) =>
      event.type === 'turn_finished' ? (event.message ?? []) : [],
    );
    expect(`${messages.map(textOf).join('\n\n')}\n`).toContain('It turns.\n');
    expect(messages.map((item) => textOf({ ...item, parts: item.parts.slice(0, 1) }))).toEqual([
      'I look.',
      'It turns.',
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'run_finished', stop: { reason: 'stop' } });
    expect([stderr, code]).toEqual(['', exitCodes.done]);
  });

  test('does not let a model control the terminal, and is as it is elsewhere', async () => {
    const script = ['\u001b[2JHi\r\n'];
    expect((await runPrint({ script })).stdout).toBe('\u001b[2JHi\r\n');
    const stdout = new CapturedOutput({ isTTY: true });
    expect((await runPrint({ script, stdout })).stdout).toBe('␛[2JHi\n');
  });
});

describe('standard error', () => {
  test('tells who watches at a terminal of the model, of tools, and of what it came to', async () => {
    const { stdout, stderr, session } = await runPrint({
      ...withTool,
      stderr: new CapturedOutput({ isTTY: true }),
      env: { NO_COLOR: '1' },
    });
    expect(stdout).toBe('It turns.\n');
    expect(stderr.split('\n')).toEqual([
      'A test says so.',
      '▸ look at the weather',
      '✓ look at the weather',
      expect.stringContaining(`Session ${session}`),
      '',
    ]);
  });

  test('tells the same where that is asked for, in colours only where there are some', async () => {
    const args = { verbose: true };
    const { stderr } = await runPrint({ ...withTool, args });
    expect(stderr).toContain('▸ look at the weather\n');
    const env = { FORCE_COLOR: '1', NO_COLOR: '1' };
    const coloured = await runPrint({ ...withTool, args, env });
    expect(coloured.stderr).toContain('\u001b[2m▸ look at the weather\u001b[22m\n');
  });

  test('says in any case that the answer is from the demo, and what could not be had', async () => {
    const chosen = { why: 'There is no key.', isDemo: true };
    const { stderr } = await runPrint({ script: ['Hi'], chosen });
    expect(stderr).toBe('There is no key.\n');
  });

  test('says that a local server was chosen without a request', async () => {
    const chosen = { why: 'There is no key.', isDemo: false, isGuess: true };
    const { stderr } = await runPrint({ script: ['Hi'], chosen });
    expect(stderr).toBe('There is no key.\n');
  });

  test('that cannot be written to harms nobody', async () => {
    const stage = { ...withTool, stderr: new FailingOutput('EPIPE'), args: { verbose: true } };
    const { code, stdout } = await runPrint(stage);
    expect([code, stdout]).toEqual([exitCodes.done, 'It turns.\n']);
  });
});

describe('an answer that is tried again', () => {
  const cut: ScriptEntry = {
    content: { parts: ['It turns.'] },
    fault: { type: 'error', after: 5, error: 'server' },
  };

  test('is on standard output once where it says the same', async () => {
    const { code, stdout, stderr } = await runPrint({ script: [cut, 'It turns.'] });
    expect([code, stdout]).toEqual([exitCodes.done, 'It turns.\n']);
    expect(stderr).toContain('Retrying');
  });

  test('23.1: is not on standard output where the next attempt says something else', async () => {
    const { code, stdout } = await runPrint({ script: [cut, 'It stands.'] });
    expect([code, stdout]).toEqual([exitCodes.done, 'It stands.\n']);
  });

  test('begins on a new line with --stream all, and standard error says so', async () => {
    const { stdout, stderr, session, log } = await runPrint({
      script: [cut, 'It stands.'],
      args: { stream: 'all' },
    });
    expect(stdout).toBe('It tu\nIt stands.\n');
    expect(stderr).toContain('restarted after an error');
    expect(textOf((await itemsOf({ log, session })).at(-1))).toBe('It stands.');
  });
});

describe('what is piped in', () => {
  const saidIn = async (stage: Partial<RunPrintOptions>) => {
    const printed = await runPrint({ script: ['Yes'], ...stage });
    const [said] = await itemsOf(printed);
    return { parts: said?.parts.map((part) => 'text' in part && part.text), said };
  };

  test('is context for the prompt', async () => {
    const { parts, said } = await saidIn({ piped: 'a b c\n' });
    expect(parts).toEqual(['The weather?', '<stdin>\na b c\n</stdin>']);
    expect(said?.metadata).toEqual({ cwd });
  });

  test('is the prompt where there is no other', async () => {
    const { parts } = await saidIn({ piped: ' Why?\n', args: { prompt: undefined } });
    expect(parts).toEqual(['Why?']);
  });

  test('is nothing where it is empty, and where a person sits there', async () => {
    expect((await saidIn({ piped: ' \n' })).parts).toEqual(['The weather?']);
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    expect((await saidIn({ stdin })).parts).toEqual(['The weather?']);
  });

  test.each([
    ['bytes that are no text', Uint8Array.of(0xff, 0xfe, 0x00)],
    ['text with a NUL in it', 'a\0b'],
    ['more than any model takes', 'x'.repeat(4 * 2 ** 20 + 1)],
  ])('is refused where it is %s', async (_what, piped) => {
    await expect(runPrint({ script: [], piped })).rejects.toThrow(UsageError);
  });

  test('is waited for to its end, and after a while that is said', async () => {
    const clock = new VirtualClock();
    const stdin = new PassThrough();
    const stderr = new CapturedOutput();
    const printing = runPrint({ script: ['Yes'], stdin, stderr, clock });
    expect(clock.pending).toBe(1);
    clock.advance(3000);
    await Promise.resolve();
    expect(stderr.text).toContain('Waiting for the end');
    stdin.end('a\n');
    expect((await printing).code).toBe(exitCodes.done);
  });

  test('that does not come is given up when the run is to stop', async () => {
    const stop = new AbortController();
    const stderr = new CapturedOutput();
    const printing = runPrint({
      script: [],
      stdin: new PassThrough(),
      stderr,
      signal: stop.signal,
    });
    stop.abort();
    expect((await printing).code).toBe(exitCodes.aborted);
    expect(stderr.text).toContain('Stopped before the run');
  });

  test('has to be something, or there is nothing to say', async () => {
    const asked = runPrint({ script: [], args: { prompt: undefined } });
    await expect(asked).rejects.toThrow(/there is no prompt.*millrace -p/);
  });
});

describe('the exit code', () => {
  test('is 1 for an error, which is said', async () => {
    const fault = { type: 'error', after: 2, error: 'invalid_request' } as const;
    const { code, stdout, stderr, session } = await runPrint({
      script: [{ content: { parts: ['Yes'] }, fault }],
    });
    expect([code, stdout]).toEqual([exitCodes.error, 'Ye\n']);
    expect(stderr).toContain(`millrace --resume ${session}`);
    expect(stderr.split('\n')[0]).toMatch(/as scripted|refused|invalid/i);
  });

  test('is 3 for an abort, and what was said is kept', async () => {
    const stop = new AbortController();
    const stdout = new CapturedOutput();
    const fault = { type: 'stall', after: 5 } as const;
    const script = [{ content: { parts: ['It turns.'] }, fault }, 'Go on.'] as const;
    const printing = runPrint({ script, stdout, signal: stop.signal, args: { stream: 'all' } });
    while (stdout.text !== 'It tu') await new Promise(setImmediate);
    stop.abort('SIGINT');
    const { code, stderr, log, session } = await printing;
    expect([code, stdout.text]).toEqual([exitCodes.aborted, 'It tu\n']);
    expect(stderr).toBe(
      `Stopped. The session is stored. To continue: millrace --resume ${session}\n`,
    );
    expect((await itemsOf({ log, session })).at(-1)).toMatchObject({
      parts: [{ text: 'It tu', partial: true }],
      stop: { reason: 'aborted' },
    });
  });

  test('is 5 for a limit and for an answer that was cut off', async () => {
    const limits = { maxTurns: 1 };
    const limited = await runPrint({ ...withTool, agent: { tools: [look], limits } });
    expect(limited.code).toBe(exitCodes.limit);
    expect(limited.stderr).toContain('Stopped at a limit (1 turns)');
    const places = { cwd: 'sub', store: "/a b/it's.db" };
    const elsewhere = await runPrint({
      ...withTool,
      agent: { tools: [look], limits },
      args: places,
    });
    expect(elsewhere.stderr).toContain(
      `To continue: millrace --resume ${elsewhere.session} --cwd sub --store '/a b/it'\\''s.db'\n`,
    );
    const cut = await runPrint({ script: [{ content: { parts: ['Yes'] }, stop: 'length' }] });
    expect(cut.code).toBe(exitCodes.limit);
    expect(cut.stderr).toContain('cut off');
  });

  test('is 4 where something is asked about: the session waits, and goes on when it was answered', async () => {
    const approve = () => ({ decision: 'ask', reason: 'it looks' }) as const;
    const agent = { tools: [look], approve };
    const parked = await runPrint({ ...withTool, agent });
    const { session, log } = parked;
    expect([parked.code, parked.stdout]).toEqual([exitCodes.parked, '']);
    expect(parked.stderr).toContain('look needs your approval: it looks\n');
    expect(parked.stderr).toContain(`millrace --resume ${session}`);
    const resume = { session: { id: session.slice(0, 9) }, prompt: undefined };
    const still = await runPrint({ script: [], agent, log, args: resume });
    expect(still.code).toBe(exitCodes.parked);
    expect(still.stderr).toContain('look needs your approval: it looks\n');
    await log.submit(session, { type: 'approve', toolCallId: 'c1' }, 'key');
    const done = await runPrint({ script: ['It turns.'], agent, log, args: resume });
    expect([done.code, done.stdout, done.session]).toEqual([0, 'It turns.\n', session]);
  });
});

describe('a session', () => {
  test('that was the last of the folder is gone on with', async () => {
    const { log, session } = await runPrint({ script: ['One.'] });
    const next = await runPrint({ script: ['Two.'], log, args: { session: 'last' } });
    expect(next.session).toBe(session);
    const sent = next.provider.requests[0]?.request.items.map(textOf);
    expect(sent).toEqual(['The weather?', 'One.', 'The weather?']);
  });

  test('that is finished needs a prompt: no model is asked, and the error says so', async () => {
    const { log, session } = await runPrint({ script: ['One.'] });
    const before = await log.info(session);
    const nothing = runPrint({ script: [], log, args: { session: 'last', prompt: undefined } });
    await expect(nothing).rejects.toThrow(UsageError);
    await expect(nothing).rejects.toThrow(/no unfinished work.*millrace -p "And now\?" --resume /);
    expect((await log.info(session))?.through).toBe(before?.through);
  });

  test('that does not exist is an error with the remedy', async () => {
    const none = runPrint({ script: [], args: { session: { id: 'nope' } } });
    await expect(none).rejects.toThrow(/no(ne| ).*millrace sessions/);
  });

  test('that somebody else drives is an error that names them', async () => {
    const { log, session } = await runPrint({ script: ['One.'] });
    const driver = await log.open(session, { holder: 'the other terminal' });
    const { code, stdout, stderr } = await runPrint({ script: [], log, args: { session: 'last' } });
    await driver.release();
    expect([code, stdout]).toEqual([exitCodes.error, '']);
    expect(stderr).toBe(
      `Cannot continue session ${session}: the other terminal runs it now. Wait until it is done, or follow and stop it: millrace --resume ${session}\n`,
    );
  });
});

test('what somebody else waits for is not approved of by rules of this command', async () => {
  const agent = { tools: [look], approve: () => 'ask' as const };
  const { log, session } = await runPrint({ ...withTool, agent });
  const driver = await log.open(session, { holder: 'the other terminal' });
  const built = {
    ...builtAgentWith({ provider: scriptedProvider([]), log }),
    allows: async () => true,
  };
  const before = await log.info(session);
  const ended = await runPrint({ script: [], log, built, args: { session: 'last' } });
  expect(ended.code).toBe(exitCodes.error);
  expect((await log.info(session))?.through).toBe(before?.through);
  await driver.release();
});

describe('an output that fails', () => {
  const endless: ScriptEntry = {
    content: { parts: ['It turns and turns.'] },
    fault: { type: 'stall', after: 8 },
  };
  const stage = {
    script: [says('I look.', toolCall('c1', 'look', {})), endless],
    agent: withTool.agent,
    args: { stream: 'all' },
  } as const;
  const wasAborted = async (log: Log, session: PrintResult['session']) => {
    const { records } = await log.read(session);
    return records.some(({ fact }) => fact?.type === 'aborted');
  };

  test('because its reader left stops the run without a word, and keeps the session', async () => {
    const stdout = new FailingOutput('EPIPE', 1);
    const { code, stderr, log, session } = await runPrint({ ...stage, stdout });
    expect([code, stderr, stdout.writes.length]).toEqual([exitCodes.aborted, '', 1]);
    expect(await wasAborted(log, session)).toBe(true);
  });

  test('because there is no room is an error that says so, and keeps the session', async () => {
    const stdout = new FailingOutput('ENOSPC');
    const { code, stderr, log, session } = await runPrint({ ...stage, stdout });
    expect(code).toBe(exitCodes.error);
    expect(stderr).toMatch(/^Cannot write to standard output: the disk is full \(ENOSPC\)\./);
    expect(stderr).toContain(`millrace --resume ${session}`);
    expect(await wasAborted(log, session)).toBe(true);
  });
});

describe('an answer that has to fit a schema', () => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' }, people: { type: 'integer', minimum: 0 } },
    required: ['city', 'people'],
    additionalProperties: false,
  };
  const answer = (value: object): ScriptEntry => ({
    content: { parts: [{ kind: 'structured', value: value as never }] },
  });
  const right = { city: 'Ulm', people: 126_000 };
  const ask = (script: readonly ScriptEntry[], written: unknown = schema) => {
    const outputSchema = join(folder, 'schema.json');
    writeFileSync(outputSchema, typeof written === 'string' ? written : JSON.stringify(written));
    return runPrint({ script, args: { outputSchema } });
  };

  test('is printed as one object, and the request has the schema of the file', async () => {
    const { code, stdout, stderr, provider } = await ask([answer(right)]);
    expect([code, stdout, stderr]).toEqual([0, '{"city":"Ulm","people":126000}\n', '']);
    expect(provider.requests[0]?.request.output).toMatchObject({ schema });
  });

  test('is asked for again in words that say what is wrong, and only the right one is printed', async () => {
    const { stdout, provider } = await ask([answer({ city: 'Ulm', people: -1 }), answer(right)]);
    expect(stdout).toBe('{"city":"Ulm","people":126000}\n');
    expect(textOf(provider.requests[1]?.request.items.at(-1))).toMatch(/people: .*-1/);
  });

  test('is an error where it never does, and nothing is printed', async () => {
    const wrong = answer({ city: 'Ulm' });
    const { code, stdout, stderr } = await ask([wrong, wrong, wrong]);
    expect([code, stdout]).toEqual([exitCodes.error, '']);
    expect(stderr).toContain('people');
  });

  test.each([
    ['is no JSON', '{'],
    ['is no object', '[]'],
    ['refers to what is not there', { $ref: '#/$defs/none' }],
    ['refers to itself without end', { allOf: [{ $ref: '#' }] }],
  ])('cannot have one that %s', async (_what, written) => {
    const asked = ask([], written);
    await expect(asked).rejects.toThrow(UsageError);
    await expect(asked).rejects.not.toThrow('..');
  });

  test.each([
    ['#/type', { type: 'objekt' }],
    ['#/type/1', { type: ['object', 'nil'] }],
    ['#/properties', { properties: 5 }],
    ['#/properties/a', { properties: { a: 'string' } }],
    ['#/properties/a~1b/pattern', { properties: { 'a/b': { type: 'string', pattern: '(' } } }],
    ['#/required', { required: 'a' }],
    ['#/$defs/x/anyOf', { $defs: { x: { anyOf: [] } } }],
    ['#/items/enum', { items: { enum: 'a' } }],
    ['#/minimum', { minimum: '1' }],
  ])('cannot have one with a mistake at %s: the model is not asked', async (place, written) => {
    const asked = ask([], written);
    await expect(asked).rejects.toThrow(UsageError);
    await expect(asked).rejects.toThrow(`: ${place} `);
  });

  test('may have one that is recursive, with a mark of its encoding at its start', async () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } };
    const written = `\uFEFF${JSON.stringify({ $ref: '#/$defs/node', $defs: { node } })}`;
    const { stdout } = await ask([answer({ next: { next: {} } })], written);
    expect(stdout).toBe('{"next":{"next":{}}}\n');
  });

  test('cannot have one that is not there', async () => {
    const asked = runPrint({ script: [], args: { outputSchema: 'none.json' } });
    await expect(asked).rejects.toThrow(/none\.json.*cannot be read \(ENOENT\)/);
  });
});

test('19.20: standard error says that a request is retried, also where nobody watches', async () => {
  const fault = { type: 'error', after: 0, error: 'overloaded' } as const;
  const script = [{ content: { parts: ['never'] }, fault }, says('It turns.')];
  const agent = { retry: { baseDelayMs: 1 } };
  const { stdout, stderr } = await runPrint({ script, agent });
  expect(stdout).toBe('It turns.\n');
  expect(stderr).toMatch(/overloaded.*Retrying in/s);
});

test('25.2: a branch continues from a record with another result, and names the command that compares it', async () => {
  const first = await runPrint(withTool);
  const { log } = first;
  const { records } = await log.read(first.session);
  const at = records.find(({ fact }) => fact?.type === 'turn_finished')?.offset ?? 0;
  const change = { at, text: undefined, instructions: undefined, rerun: [] };
  const branched = await runPrint({
    ...{ log, script: [says('It stands.')], agent: { tools: [look] } },
    args: { session: 'last', branch: { ...change, results: { c1: 'Still' } } },
  });
  expect(branched.code).toBe(exitCodes.done);
  expect(branched.stdout).toBe('It stands.\n');
  expect(branched.stderr).toContain(`millrace diff ${branched.session}`);
  expect((await itemsOf(branched)).map(textOf)).toContain('Still');
  // A branch at the first message belongs to the folder of its origin too.
  const start = records.find(({ fact }) => fact?.type === 'item_started')?.offset ?? 0;
  const other = { ...change, at: start, text: 'And now?', results: {} };
  const again = await runPrint({
    ...{ log, script: [says('Now.')], args: { session: { id: first.session }, branch: other } },
  });
  expect(await findSession(log, again.session, { cwd: '' })).toMatchObject({
    cwd,
    title: 'And now?',
  });
  const refused = await runPrint({
    ...{
      log,
      script: [],
      args: { session: { id: first.session }, branch: { ...change, at: 9999, results: {} } },
    },
  });
  expect(refused.code).toBe(exitCodes.error);
  expect(refused.stderr).toContain('Cannot branch session');
  expect(refused.stderr).not.toContain('millrace diff');
});
