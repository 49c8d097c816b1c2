import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../../packages/core/src/testing/runs.ts';
import type { Args } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import { flagNames, getFlag } from './flags.ts';
import { flagSyntax, helpText } from './help-text.ts';
import { parseArgs } from './parse-args.ts';

const parse = (...argv: readonly string[]) => parseArgs(argv);

describe('without a command', () => {
  test('nothing at all is a chat in a new session', () => {
    expect(parse()).toMatchObject({
      command: 'chat',
      prompt: undefined,
      session: 'new',
      rules: [],
    });
  });

  test('words are the first thing to say, wherever flags stand', () => {
    expect(parse('fix', 'the', 'tests')).toMatchObject({
      command: 'chat',
      prompt: 'fix the tests',
    });
    expect(parse('--model', 'demo', 'fix it')).toMatchObject({ prompt: 'fix it', model: 'demo' });
    expect(parse('fix it', '-m', 'demo')).toMatchObject({ prompt: 'fix it', model: 'demo' });
    expect(parse('fix it', '--model=demo')).toMatchObject({ prompt: 'fix it', model: 'demo' });
  });

  test('what comes after -- is text, whatever it looks like', () => {
    expect(parse('--', '--help')).toMatchObject({ command: 'chat', prompt: '--help' });
    expect(parse('--', 'sessions')).toMatchObject({ command: 'chat', prompt: 'sessions' });
    expect(parse('-p', '--', '-1 is')).toMatchObject({ command: 'print', prompt: '-1 is' });
  });

  test('-p prints, with its text before or after other flags', () => {
    const expected = { command: 'print', prompt: 'Say hello', json: true };
    expect(parse('-p', 'Say hello', '--json')).toMatchObject(expected);
    expect(parse('-p', '--json', 'Say hello')).toMatchObject(expected);
    expect(parse('--print=Say hello', '--json')).toMatchObject(expected);
    expect(parse('-p')).toMatchObject({ command: 'print', prompt: undefined, json: false });
    expect(parse('-p', 'sessions')).toMatchObject({ command: 'print', prompt: 'sessions' });
  });

  test('a session is chosen by --continue and --resume', () => {
    expect(parse('-c')).toMatchObject({ session: 'last' });
    expect(parse('-r')).toMatchObject({ session: 'pick' });
    expect(parse('-r', '--read-only')).toMatchObject({ session: 'pick', permissions: 'read-only' });
    expect(parse('-r', 'ab12', 'go', 'on')).toMatchObject({
      session: { id: 'ab12' },
      prompt: 'go on',
    });
    expect(parse('--resume=ab12')).toMatchObject({ session: { id: 'ab12' }, prompt: undefined });
    expect(parse('-pr', 'ab12', 'go on')).toMatchObject({
      command: 'print',
      session: { id: 'ab12' },
    });
    expect(parse('-r', '--', 'go on')).toMatchObject({ session: 'pick', prompt: 'go on' });
  });

  test('limits are numbers, and money stays the decimal that it was', () => {
    const limits = { maxTurns: 5, maxTokens: 20_000, maxCost: '0.10' };
    expect(parse('--max-turns', '5', '--max-tokens=20000', '--max-cost', '$0.10')).toMatchObject(
      limits,
    );
  });

  test('rules keep their order, and of a flag that is given twice the last counts', () => {
    const args = parse('--deny', '*:.env', '--allow', 'bash:git status', '-m', 'a', '-m', 'b');
    expect(args).toMatchObject({
      model: 'b',
      rules: [
        { path: '.env', decision: 'deny' },
        { tool: 'bash', command: 'git status', decision: 'allow' },
      ],
    });
  });

  test('--yes and --read-only say what is allowed', () => {
    expect(parse('--yes')).toMatchObject({ permissions: 'allow' });
    expect(parse('--read-only')).toMatchObject({ permissions: 'read-only' });
    expect(parse('--mode', 'plan')).toMatchObject({ permissions: 'plan' });
    expect(parse('--mode=accept-edits')).toMatchObject({ permissions: 'accept-edits' });
    expect(parse()).toMatchObject({ permissions: undefined });
  });
});

describe('commands', () => {
  const cases: readonly (readonly [string, Partial<Args>])[] = [
    ['sessions', { command: 'sessions', action: 'list', operands: [], all: false, json: false }],
    ['sessions list --all --json', { command: 'sessions', action: 'list', all: true, json: true }],
    [
      '--store x.db sessions show ab',
      { command: 'sessions', action: 'show', operands: ['ab'], store: 'x.db' },
    ],
    [
      'sessions export a b -o c',
      { command: 'sessions', action: 'export', operands: ['a', 'b'], output: 'c' },
    ],
    [
      'sessions export a b.md',
      { command: 'sessions', action: 'export', operands: ['a'], output: 'b.md' },
    ],
    [
      'sessions delete a --yes',
      { command: 'sessions', action: 'delete', operands: ['a'], yes: true },
    ],
    ['sessions import', { command: 'sessions', action: 'import', operands: [] }],
    ['replay ab --speed 4', { command: 'replay', session: 'ab', speed: 4 }],
    ['replay ab', { command: 'replay', speed: 1, json: false }],
    ['replay ab --speed max', { command: 'replay', speed: Number.POSITIVE_INFINITY }],
    ['inspect last --json', { command: 'inspect', session: 'last', json: true }],
    ['diff last', { command: 'diff', a: 'last', b: undefined, json: false }],
    ['diff 3f2a last --json', { command: 'diff', a: '3f2a', b: 'last', json: true }],
    [
      'sessions pin last recordings --agents a.ts --agent desk',
      {
        ...{ command: 'sessions', action: 'pin', operands: ['last', 'recordings'] },
        ...{ agents: 'a.ts', agent: 'desk' },
      },
    ],
    [
      'test --agents a.ts',
      { command: 'test', operands: [], agents: 'a.ts', mode: 'requests', accept: false },
    ],
    [
      'test a last --mode live --tools real --accept -o r.html -o r.xml --json',
      {
        ...{ command: 'test', operands: ['a', 'last'], mode: 'live', tools: 'real' },
        ...{ accept: true, outputs: ['r.html', 'r.xml'], force: false, json: true },
      },
    ],
    ['sql', { command: 'sql', query: undefined, format: 'table' }],
    ['sql - --csv --since 7d', { command: 'sql', query: '-', format: 'csv', since: '7d' }],
    ['doctor --no-color', { command: 'doctor', color: false }],
    ['serve', { command: 'serve', port: undefined, host: undefined, log: 'text', yes: false }],
    ['serve --no-token', { command: 'serve', noToken: true }],
    [
      'serve --port 0 --host ::1 --agents a.ts --data d --log json --token t --networks private --otlp http://h:4318 -y',
      {
        ...{ command: 'serve', port: 0, host: '::1', agents: 'a.ts', data: 'd' },
        ...{ log: 'json', token: 't', agentNetworks: 'private', otlp: 'http://h:4318', yes: true },
      },
    ],
    [
      'serve --allow-host a.example,b.example --allow-host c.example --origin https://d.example --base-path /agents --proxies loopback,10.1.0.0/16',
      {
        ...{ command: 'serve', allowHosts: ['a.example', 'b.example', 'c.example'] },
        ...{ origins: ['https://d.example'], basePath: '/agents' },
        trustedProxies: ['loopback', '10.1.0.0/16'],
      },
    ],
    [
      'serve --store postgres://db/app --bus redis://r',
      { command: 'serve', store: 'postgres://db/app', bus: 'redis://r' },
    ],
    ['help', { command: 'help', topic: undefined }],
    ['help replay', { command: 'help', topic: 'replay' }],
    ['verify last', { command: 'verify', operands: ['last'] }],
    ['verify --help', { command: 'help', topic: 'verify' }],
    ['report last', { command: 'report', session: 'last' }],
    ['help report', { command: 'help', topic: 'report' }],
    ['sessions show --help', { command: 'help', topic: 'sessions' }],
    ['-h', { command: 'help', topic: undefined }],
    ['-v', { command: 'version' }],
  ];

  test.each(cases)('%s', (line, expected) => {
    expect(parse(...line.split(' '))).toMatchObject(expected);
  });
});

test('text that begins like a list is text, wherever it stands', () => {
  expect(parseArgs(['-p', '- one\n- two'])).toMatchObject({ prompt: '- one\n- two' });
  expect(parseArgs(['-- what is that?'])).toMatchObject({ prompt: '-- what is that?' });
  expect(parseArgs(['--system', '- Be brief', 'Hi'])).toMatchObject({
    ...{ system: '- Be brief', prompt: 'Hi' },
  });
});

describe('an error about a mistake says what to do', () => {
  const cases: readonly (readonly [readonly string[], string])[] = [
    [['--modle', 'x'], 'Unknown flag --modle. Did you mean --model? See millrace --help'],
    [['--zzzzzz'], 'Unknown flag --zzzzzz. See millrace --help, and put -- before text'],
    [['-z'], 'Unknown flag -z. See'],
    [['--model'], '--model needs a value: --model <name>'],
    [['--model='], '--model needs a value: --model <name>'],
    [['--model', '--json'], '--json looks like a flag: write --model=<name>'],
    [['--yes=1'], '--yes takes no value'],
    [['--json', 'hello'], '--json is not for the chat. It requires -p'],
    [['--speed', '2'], '--speed is not for the chat. Use it with millrace replay'],
    [['doctor', '-m', 'x'], '--model is not for millrace doctor. Use it with the chat or -p'],
    [
      ['doctor', '--sandbox', 'off'],
      '--sandbox is not for millrace doctor. Use it with the chat or -p',
    ],
    [['sesions'], 'Unknown command sesions. Did you mean millrace sessions?'],
    [['sesions'], 'To send it to the model: millrace -- sesions'],
    [['sessions', 'lst'], 'Unknown action of millrace sessions. Did you mean list?'],
    [['sessions', 'show'], 'millrace sessions show needs a session id'],
    [['sessions', '-o', 'x'], '--output is not for millrace sessions list. Use it with export'],
    [
      ['sessions', 'export', 'a', '--yes'],
      '--yes is not for millrace sessions export. Use it with delete',
    ],
    [
      ['sessions', 'show', 'a', '--all'],
      '--all is not for millrace sessions show. Use it with list',
    ],
    [
      ['sessions', 'import', '--json'],
      '--json is not for millrace sessions import. Use it with list, show',
    ],
    [['sessions', 'show', ''], 'millrace sessions show needs a session id'],
    [['replay', ''], 'millrace replay needs a session id'],
    [['sessions', 'list', 'x'], 'millrace sessions list got too many arguments'],
    [['replay'], 'millrace replay needs a session id: millrace replay <id>, or'],
    [['inspect', 'a', 'b'], 'got too many arguments. See millrace inspect --help'],
    [['test', '--mode', 'plan'], '--mode must be one of exact, requests, live'],
    [['test', '--tools', 'real'], '--tools is for --mode live'],
    [['test', '--mode', 'live', '--tools', 'all'], '--tools must be one of recorded, real'],
    [['test', '-o', 'x.pdf'], '--output must end in .html, .xml, .json or .md'],
    [['test', ''], 'millrace test got an empty name'],
    [['sessions', 'pin'], 'millrace sessions pin needs a session id'],
    [['sessions', 'pin', 'a', 'b', 'c'], 'got too many arguments'],
    [['sessions', 'show', 'a', '--agents', 'x'], '--agents is not for millrace sessions show'],
    [['diff'], 'millrace diff needs session ids: millrace diff <id> <id>, or'],
    [['diff', 'a', ''], 'millrace diff needs session ids: millrace diff <id> <id>, or'],
    [['sql', 'SELECT', '1'], 'Put the query in quotes: millrace sql "SELECT'],
    [['sql', 'SELECT 1', '--json', '--csv'], 'Use only one of --json, --csv and --parquet'],
    [['sql', '--parquet', 'a'], '--parquet needs a query'],
    [['diff', 'a', 'b', 'c'], 'got too many arguments. See millrace diff --help'],
    [['doctor', 'my', 'code'], 'millrace doctor got too many arguments'],
    [['replay', 'a', '--speed', '0'], '--speed takes a number above 0, or max'],
    [['serve', 'demo'], 'millrace serve got too many arguments. Choose agents'],
    [['serve', '--port', '65536'], '--port takes a number from 0 to 65535'],
    [['serve', '--port', '-1'], '--port'],
    [['serve', '--log', 'xml'], '--log takes text or json'],
    [['serve', '--allow-host', 'https://a.example'], '--allow-host takes names without scheme'],
    [['serve', '--origin', 'https://a.example/'], '--origin takes a scheme and a host'],
    [['serve', '--base-path', 'agents'], '--base-path takes a path'],
    [['serve', '--config', 'x'], '--config is not for millrace serve'],
    [['help', 'me'], 'There is no such help topic. Topics: sessions, replay'],
    [['--max-turns', '0'], '--max-turns takes a whole number of at least 1'],
    [['--max-tokens', '1e3'], '--max-tokens takes a whole number'],
    [['--max-cost', 'free'], '--max-cost takes an amount in dollars above 0'],
    [['-c', '-r', 'x'], '--continue and --resume both choose a session'],
    [['-p', '-r'], '--resume needs an id with -p'],
    [['--mode', 'plan', '--yes'], '--mode, --yes and --read-only all set the mode'],
    [['--mode', 'fast'], '--mode must be one of read-only, plan, ask, accept-edits, auto, allow'],
    [['--yes', '--read-only'], '--yes allows everything and --read-only allows only reading'],
    [['-p', 'x', '--json', '--output-schema', 'f'], 'Use only one of them'],
    [['--allow', 'github:push'], 'github supports neither a path nor a command'],
  ];

  test.each(cases)('%j', (argv, message) => {
    expect(() => parseArgs(argv)).toThrow(UsageError);
    expect(() => parseArgs(argv)).toThrow(message);
  });
});

test('any words at all are either understood or a usage error', () => {
  const word = fc.oneof(
    fc.constantFrom(
      ...flagNames.map((name) => `--${name}`),
      ...flagNames.map((name) => `--${name}=1`),
    ),
    fc.constantFrom(
      '-p',
      '-r',
      '-c',
      '-cr',
      '--',
      '-',
      '',
      'sessions',
      'show',
      'replay',
      'help',
      '-x',
    ),
    fc.string({ maxLength: 8 }),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 6 }), (argv) => {
      try {
        expect(typeof parseArgs(argv).command).toBe('string');
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError);
      }
    }),
    { numRuns: runs(1000) },
  );
});

describe('the help', () => {
  test('of serve says what its store can be', () => {
    expect(helpText('serve')).toContain('--store <folder or url>');
    expect(helpText('sessions')).toContain('--store <file>');
  });

  test('names every flag of a command, fits a terminal, and its examples are understood', () => {
    for (const topic of [
      undefined,
      'sessions',
      'replay',
      'inspect',
      'diff',
      'test',
      'sql',
      'doctor',
      'serve',
    ] as const) {
      const help = helpText(topic);
      const owners = topic === undefined ? (['run', 'print'] as const) : [topic];
      for (const name of flagNames) {
        const isOwn = getFlag(name).owners.some((owner) => owners.some((each) => each === owner));
        expect(new RegExp(`^ .*--${name}(?= |$)`, 'm').test(help.split('Flags:')[1] ?? '')).toBe(
          isOwn,
        );
      }
      expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
      for (const name of flagNames.filter((each) => help.includes(flagSyntax(each))))
        expect(help).toContain(`${flagSyntax(name)}  `);
      const examples = help.matchAll(/^ {2}millrace ?(.*)\n {6}\w/gm);
      const words = [...examples].map(([, line = '']) => line.replace(/ [<|] .*/, ''));
      expect(words.length).toBeGreaterThan(0);
      for (const line of words) {
        const argv = [...line.matchAll(/"([^"]*)"|\S+/g)].map(([all, quoted]) => quoted ?? all);
        expect(parseArgs(argv).command).toBe(topic ?? (argv.includes('-p') ? 'print' : 'chat'));
      }
    }
  });
});
