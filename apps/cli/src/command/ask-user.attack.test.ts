import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { loadExtensions } from '../extensions/load-extensions.ts';
import { quietMs, settleMs } from '../input/answer/answer-guard.ts';
import { FakeKeyboard, FakeTerminal } from '../testing/fake-terminal.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { homeAndProject, hookSettings } from '../testing/test-agent.ts';
import { askForExtensions, askForTrust, askYesNo } from './ask-user.ts';

/** Simulates a person who answers a question. Each step waits and then delivers one read. */
async function answer(
  reads: readonly (readonly [waitMs: number, bytes: string])[],
  question = 'Trust it?',
): Promise<boolean | undefined> {
  const stdin = new PassThrough();
  const clock = new VirtualClock();
  const size = { rows: 24, columns: 80 };
  const stdout = Object.assign(new CapturedOutput({ isTTY: true }), size);
  const { signal } = new AbortController();
  const given = askYesNo({ stdin, stdout, signal, clock }, question);
  for (const [waitMs, bytes] of reads) {
    clock.advance(waitMs);
    stdin.write(bytes);
    await new Promise((resolve) => setImmediate(resolve));
  }
  clock.advance(settleMs);
  stdin.end();
  return given;
}

test('a single y after a pause is a yes', async () => {
  expect(await answer([[quietMs, 'y']])).toBe(true);
});

test.for<readonly [string, readonly (readonly [number, string])[]]>([
  ['typed before the question', [[0, 'y']]],
  ['typed within a second of it', [[quietMs - 1, 'y']]],
  ['typed again and again', Array.from({ length: 20 }, () => [900, 'y'] as const)],
  ['with Enter in one read', [[quietMs, 'y\r']]],
  ['pasted', [[quietMs, '\u001b[200~y\u001b[201~']]],
  [
    'as the start of a word',
    [
      [quietMs, 'y'],
      [100, 'o'],
    ],
  ],
  [
    'taken back with Esc',
    [
      [quietMs, 'y'],
      [settleMs - 1, '\u001b'],
    ],
  ],
])('attack 5: a y %s does not answer the trust question', async ([, reads]) => {
  expect(await answer(reads)).not.toBe(true);
});

test.for(['n', 'N', '\r', 'no\r', 'n\r', 'no, never\r', '\u001b[200~no\u001b[201~\r'])(
  'attack 0: %j refuses at the trust question',
  async (bytes) => {
    expect(await answer([[quietMs, bytes]])).toBe(false);
  },
);

test('attack 11: names and settings of a project cannot control the terminal', async () => {
  const stdout = new CapturedOutput({ isTTY: true });
  const stdin = new PassThrough();
  const clipboard = '\u001b]52;c;ZXZpbA==\u0007';
  const untrusted = {
    path: `/project/${clipboard}\u009b2J\nTrusted already.\r\u202e/millrace.json`,
    parts: ['mcpServers', `x${clipboard}`],
    scripts: [],
    content: JSON.stringify({ mcpServers: { [`a${clipboard}\u009b`]: { command: 'sh\u200b' } } }),
  };
  const asked = askForTrust(
    { untrusted },
    { stdin, stdout, signal: new AbortController().signal, clock: new VirtualClock() },
  );
  stdin.end();
  await asked;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these control a terminal
  expect(stdout.text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  expect(stdout.text).not.toContain('\nTrusted already');
  expect(stdout.text.replaceAll('\n  ↳ ', '')).toContain('sh‹U+200B›');
});

/** Returns the question about the extensions of a project with these files. */
async function trustQuestion(
  files: Readonly<Record<string, string>>,
  size: { readonly rows?: number; readonly columns?: number } = {},
): Promise<string> {
  const stdout = Object.assign(new CapturedOutput({ isTTY: true }), size);
  const stdin = new PassThrough();
  const { untrusted } = await loadExtensions(homeAndProject(files));
  if (untrusted === undefined) throw new Error('Nothing needs trust');
  const { signal } = new AbortController();
  const asked = askForExtensions(untrusted, { stdin, stdout, signal, clock: new VirtualClock() });
  stdin.end();
  await asked;
  return stdout.text;
}

test('18.1062: attack: wide characters push the start of a trust question off the screen', async () => {
  const isAscii = (one: string) => one >= ' ' && one <= '~';
  const widthOf = (one: string) => (isAscii(one) ? 1 : 2);
  const stdout = new FakeTerminal({ columns: 40, rows: 12, widthOf });
  const stdin = new PassThrough();
  const { signal } = new AbortController();
  const question = `It runs evil\n${'é☎\ufe0f'.repeat(100)}\nTrust it?`;
  const asked = askYesNo({ stdin, stdout: stdout as never, signal }, question);
  expect(stdout.screen).toContain('It runs evil');
  stdin.end();
  await asked;
});

test('the question about hooks of a project says where they run', async () => {
  const files = { 'project/.claude/settings.json': hookSettings('Stop', 'make lint') };
  const text = await trustQuestion(files);
  expect(text).toContain('run programs (hooks), in the sandbox if there is one');
  expect(text).toContain('Stop: make lint');
});

test.for([80, 40, 20])(
  'the question about extensions and its choices fit %i columns, without a broken word',
  async (columns) => {
    const files = { 'project/.claude/settings.json': hookSettings('Stop', 'make lint') };
    const text = await trustQuestion(files, { rows: 200, columns });
    const lines = text.trimEnd().split('\n');
    for (const line of lines) expect(line.length).toBeLessThan(columns);
    expect(lines.slice(-2).join(' ')).toMatch(/Trust all of them\? \[y\/N\]$/);
    expect(text.replaceAll('\n', ' ')).toContain(
      'a hook or an extension changes, or a file is added.',
    );
  },
);

test('18.296: attack: the question hides files that an extension imports', async () => {
  const files = {
    'project/.millrace/extensions/ok.ts': "import './lib/deep/evil.ts';\nexport default () => {};",
    'project/.millrace/extensions/lib/deep/evil.ts': 'export {};',
  };
  const text = await trustQuestion(files);
  expect(text).toContain('ok (.millrace/extensions/ok.ts)');
  expect(text).toContain('.millrace/extensions/lib/deep/evil.ts');
});

const longQuestions = [
  ['many lines', `"command": "evil"\n${'"padding": 1\n'.repeat(50)}Trust it?`],
  ['one long line', `"command": "evil", ${'x'.repeat(4000)} Trust it?`],
] as const;

test.for(longQuestions)(
  'attack 10: a question with %s is not answered before all of it was shown',
  async ([, question]) => {
    expect(await answer([[quietMs, 'y']], question)).not.toBe(true);
    const once = [
      [quietMs, ' '],
      [quietMs, 'y'],
    ] as const;
    expect(await answer(once, question)).not.toBe(true);
    const pages = [
      [quietMs, ' '],
      [0, ' '],
    ] as const;
    // A key that arrives immediately after the last page does not count.
    expect(await answer([...pages, [quietMs - 1, 'y']], question)).not.toBe(true);
    expect(await answer([...pages, [quietMs, 'y']], question)).toBe(true);
  },
);

test.for(['n', '\r', 'no\r', '\u001b'])(
  '%j refuses at the first page of a long question',
  async (bytes) => {
    expect(await answer([[quietMs, bytes]], longQuestions[0][1])).toBe(false);
  },
);

test('18.184: attack: a project that needs two answers gets the second answer too', async () => {
  const stdin = new PassThrough();
  const clock = new VirtualClock();
  const stdout = Object.assign(new CapturedOutput({ isTTY: true }), { rows: 24, columns: 80 });
  const { signal } = new AbortController();
  const ask = async (bytes: string) => {
    const given = askYesNo({ stdin, stdout, signal, clock }, 'Trust it?');
    // A paused terminal does not keep the process alive, so the program would end here.
    expect(stdin.isPaused()).toBe(false);
    clock.advance(quietMs);
    stdin.write(bytes);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(settleMs);
    return given;
  };
  expect(await ask('n')).toBe(false);
  expect(await ask('y')).toBe(true);
});

/** Presses a key after the quiet time, and waits until it is read. */
async function pressIn(stdin: FakeKeyboard, clock: VirtualClock, key: string): Promise<void> {
  clock.advance(quietMs);
  stdin.write(key);
  await new Promise((resolve) => setImmediate(resolve));
}

const manyHooks = Array.from({ length: 60 }, (_, at) => `  - hook ${at};`);
const hooksQuestion = `Files want to:\n${manyHooks.join('\n')}\nTrust all of them?`;

test.for([
  ...[20, 24, 30, 34, 35, 36, 37, 40, 80].flatMap((columns) =>
    [5, 6, 12, 24].flatMap((rows) => [
      [columns, rows, 'no early key'] as const,
      [columns, rows, 'an early key'] as const,
    ]),
  ),
])(
  '18.1716: attack: a row of a long question is on no page of %i columns and %i rows, with %s',
  async ([columns, rows, early]) => {
    const stdout = new FakeTerminal({ columns, rows });
    const [stdin, clock] = [new FakeKeyboard(), new VirtualClock()];
    const { signal } = new AbortController();
    const asked = askYesNo(
      { stdin, stdout: stdout as never, signal, clock, env: {} },
      hooksQuestion,
    );
    let seen = '';
    for (let at = 0; at < 200 && !stdout.screen.endsWith('[y/N]'); at++) {
      // A key that arrives too early adds a hint.
      if (at === 1 && early === 'an early key') stdin.write('x');
      await new Promise((resolve) => setImmediate(resolve));
      seen += `${stdout.screen}\n`;
      await pressIn(stdin, clock, ' ');
    }
    seen += stdout.screen;
    expect(manyHooks.filter((hook) => !seen.includes(hook))).toEqual([]);
    await pressIn(stdin, clock, 'y');
    clock.advance(settleMs);
    expect(await asked).toBe(true);
  },
);

test.for([
  ['lower', 80, 12, true],
  ['narrower', 20, 24, true],
  ['lower, before the signal', 80, 12, false],
  ['too small', 8, 3, true],
] as const)(
  '18.1717: attack: the window gets %s between two pages of a question',
  async ([, columns, rows, isReported]) => {
    const stdout = new FakeTerminal({ columns: 80, rows: 24 });
    const [stdin, clock] = [new FakeKeyboard(), new VirtualClock()];
    const { signal } = new AbortController();
    const asked = askYesNo(
      { stdin, stdout: stdout as never, signal, clock, env: {} },
      hooksQuestion,
    );
    let seen = `${stdout.screen}\n`;
    await pressIn(stdin, clock, ' ');
    // Nobody has read the second page when the size changes.
    if (isReported) stdout.resize(columns, rows);
    else stdout.changeSizeBeforeSignal(columns, rows);
    stdin.write(' ');
    await new Promise((resolve) => setImmediate(resolve));
    for (let at = 0; at < 200 && !stdout.screen.endsWith('[y/N]'); at++) {
      seen += `${stdout.screen}\n`;
      await pressIn(stdin, clock, ' ');
      if (at === 50) stdout.resize(40, 30);
    }
    seen += stdout.screen;
    expect(manyHooks.filter((hook) => !seen.includes(hook))).toEqual([]);
    // A question whose last page was shown again is not answered at once.
    stdout.resize(82, 30);
    stdin.write('y');
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(settleMs);
    expect(stdout.screen).not.toContain('yes');
    await pressIn(stdin, clock, 'y');
    clock.advance(settleMs);
    expect(await asked).toBe(true);
  },
);

test('18.1717: attack: the last page gets a smaller window, and y arrives before the signal', async () => {
  const stdout = new FakeTerminal({ columns: 80, rows: 70 });
  const [stdin, clock] = [new FakeKeyboard(), new VirtualClock()];
  const { signal } = new AbortController();
  const asked = askYesNo({ stdin, stdout: stdout as never, signal, clock, env: {} }, hooksQuestion);
  clock.advance(quietMs);
  stdout.changeSizeBeforeSignal(80, 12);
  stdin.write('y');
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(settleMs);
  expect(stdout.screen).toMatch(/Space shows more/);
  await pressIn(stdin, clock, 'n');
  expect(await asked).toBe(false);
});
