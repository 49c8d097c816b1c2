import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  answerReply,
  errorReply,
  type ScriptedServer,
  type WireAnswer,
} from '@millrace/providers/scripted-server';
import { expect, test } from 'vitest';
import { scriptedModel } from './testing/scripted-model.ts';
import {
  describeInTmux,
  idleHint,
  promptText,
  terminalHarness,
} from './testing/terminal-harness.ts';
import type { TestTerminal } from './testing/test-terminal.ts';

/**
 * Sequences that set the clipboard and the title, send a notification, open a link and a file in
 * iTerm, and clear the screen with C1. They also send DCS and APC, ring the bell, overwrite the
 * line, erase a letter and change the text direction.
 */
const hostile = [
  ...['\u001b]52;c;UFdO\u0007', '\u001b]0;PWN\u0007', '\u001b]9;PWN\u0007'],
  ...['\u001b]8;;x:PWN\u0007', '\u001b]1337;PWN\u0007', '\u001b[2J', '\u009b2J'],
  ...['\u001bPPWN\u001b\\', '\u001b_PWN\u001b\\', 'a\rPWN', 'ab\bPWN', '\u202ePWN'],
].join('');

const raw =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these control a terminal
  /\u001b\](?:52;c;UFdO|0;PWN|9;PWN|8;;x:PWN|1337;PWN)|\u001b\[2J|[\u0080-\u009f]|\u001b[P_]PWN|\rPWN|[\b]PWN|\u202e/;

/** A shorter attack for the names of folders and files. */
const hostileName = '\u001b]52;c;UFdO\u0007\u001b]0;PWN\u0007\u009b2J\rPWN\u202e';

interface Attack {
  readonly title: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly script?: (server: ScriptedServer) => void;
  /** Commands for the shell. Each command ends before the next one starts. */
  readonly run?: readonly string[];
  /** Text of a command that does not end by itself. When it is shown, the user presses Ctrl-C. */
  readonly stopAfter?: string;
  /** The actions of a user in the chat. The chat is opened in the project folder. */
  readonly chat?: (terminal: TestTerminal) => Promise<void>;
  /** Matches the final output. Default: the visible form of the attack. */
  readonly shows?: RegExp;
}

const answer = (server: ScriptedServer, words: WireAnswer) =>
  server.reply((request) => answerReply(words, request));

const say = async (terminal: TestTerminal, text = 'Go') => {
  await terminal.send(text);
  await terminal.waitForPrinted('› ');
  await terminal.waitFor(idleHint);
};

const hostileSession = `millrace -p "$(cat payload)" > answer`;

const attacks: readonly Attack[] = [
  {
    title: 'the error text of a provider with -p',
    script: (server) =>
      server.reply(errorReply('openai-chat', 400, { message: `bad ${hostile}`, type: hostile })),
    run: ['millrace -p hi'],
  },
  {
    title: 'the error text of a provider in the chat',
    script: (server) =>
      server.reply(errorReply('openai-chat', 400, { message: `bad ${hostile}`, type: hostile })),
    chat: (terminal) => say(terminal),
  },
  {
    title: 'the text of a model with -p in a terminal',
    script: (server) => answer(server, { text: `The end ${hostile}` }),
    run: ['millrace -p hi'],
  },
  {
    title: 'the text and the reasoning of a model in the chat',
    script: (server) => answer(server, { reasoning: `I ${hostile}`, text: `The end ${hostile}` }),
    chat: async (terminal) => {
      await terminal.press('C-t');
      await say(terminal);
    },
  },
  {
    title: 'the name of a tool and its arguments with -p',
    script: (server) => {
      const toolCalls = [{ name: `a${hostile}`, arguments: JSON.stringify({ a: hostile }) }];
      answer(server, { text: 'I call.', toolCalls });
      answer(server, { text: 'The end' });
    },
    run: ['millrace -p hi --verbose'],
  },
  {
    title: 'the output of a command in the chat',
    script: (server) => {
      const command = 'cat payload';
      answer(server, {
        text: 'I run.',
        toolCalls: [{ name: 'bash', arguments: JSON.stringify({ command }) }],
      });
      answer(server, { text: 'The end' });
    },
    chat: (terminal) => say(terminal),
  },
  {
    title: 'the names of files in the completion',
    files: { [`project/zz${hostileName}`]: 'x', 'project/zz-good': 'x' },
    // The completion list does not contain names with control characters.
    shows: /zz-good/,
    chat: async (terminal) => {
      await terminal.type('@zz');
      await terminal.waitFor('zz-good');
    },
  },
  {
    title: 'the name of the folder in the chat, with -p, and in the list of sessions',
    files: { [`project/in${hostileName}/a.txt`]: 'x' },
    script: (server) => answer(server, { text: 'The end' }),
    run: ['cd in*', 'millrace -p hi', 'millrace sessions --all', 'millrace sessions show'],
    chat: async () => {},
  },
  {
    title: 'the title of a session in its list, its transcript, inspect and replay',
    script: (server) => answer(server, { text: `The end ${hostile}`, reasoning: hostile }),
    run: [
      hostileSession,
      'millrace sessions',
      'millrace sessions --json',
      'millrace sessions show',
      'millrace sessions show --json',
      'millrace inspect last',
      'millrace inspect last --json',
      'millrace replay last --speed 100',
    ],
  },
  {
    title: 'the name of an MCP server and its error',
    files: {
      'home/.config/millrace/config.json': JSON.stringify({
        mcpServers: { [`m${hostile}`]: { command: 'sh', args: ['-c', 'cat payload >&2; exit 1'] } },
      }),
    },
    run: ['millrace -p hi --model demo', 'millrace doctor'],
  },
  {
    title: 'an invalid configuration',
    files: { 'project/millrace.json': JSON.stringify({ [`k${hostile}`]: hostile, mode: hostile }) },
    run: ['millrace -p hi --model demo', 'millrace doctor', 'millrace sessions'],
  },
  {
    title: 'a configuration that is not JSON',
    files: { 'project/millrace.json': `{ ${hostile}` },
    shows: /Cannot read/,
    run: ['millrace -p hi --model demo', 'millrace doctor'],
  },
  {
    title: 'the name of a model and of a flag',
    run: [
      'millrace -p hi --model "$(cat payload)"',
      'millrace "--$(cat payload)"',
      'millrace doctor --model "$(cat payload)"',
    ],
  },
  {
    title: 'AGENTS.md',
    files: { 'project/AGENTS.md': hostile },
    shows: /The end/,
    script: (server) => answer(server, { text: 'The end' }),
    chat: (terminal) => say(terminal),
  },
  {
    title: 'the folder of the data in the start lines of serve',
    files: { [`project/in${hostileName}/a.txt`]: 'x' },
    run: ['cd in*; millrace serve --port 0 --store "$PWD/data"'],
    stopAfter: 'Try it:',
  },
  {
    title: 'a folder and settings in the trust question',
    files: {
      [`project/in${hostileName}/millrace.json`]: JSON.stringify({
        mcpServers: { [`m${hostile}`]: { command: hostile } },
      }),
    },
    run: ['cd in*'],
    chat: async (terminal) => {
      await terminal.waitFor('Trust all of it?');
    },
  },
];

describeInTmux().concurrent('text that is not ours', () => {
  test.for(attacks)('attack 11: $title cannot control the terminal', async (attack, context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open } = terminalHarness(context, {
      ...files,
      'project/payload': hostile,
      ...attack.files,
    });
    const { 'home/.config/millrace/config.json': ownConfig } = attack.files ?? {};
    const terminal = await open({
      env: ownConfig === undefined ? env : {},
      columns: 120,
      rows: 40,
    });
    for (let left = 8; left > 0; left--) attack.script?.(server);
    for (const [index, command] of (attack.run ?? []).entries()) {
      // The echo of the typed command must not match the text that marks its end.
      await terminal.send(`${command}; echo DONE''-${index}`);
      if (attack.stopAfter !== undefined) {
        await terminal.waitForPrinted(attack.stopAfter);
        await terminal.press('C-c');
      }
      await terminal.waitForPrinted(`DONE-${index}`);
    }
    if (attack.chat !== undefined) {
      await terminal.send('millrace --yes');
      if (!attack.title.includes('trust')) await terminal.waitFor(promptText);
      await attack.chat(terminal);
    }
    await terminal.saveScreen(`gate-${attack.title.replaceAll(/\W+/g, '-')}`);
    const [found] = raw.exec(terminal.written) ?? [];
    expect(found).toBeUndefined();
    // The attack is visible on the screen, so it really reached the output.
    expect(await terminal.scrollback()).toMatch(attack.shows ?? /PWN/);
  });

  test('the answer of a model in a file is unchanged', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open, workspace } = terminalHarness(context, files);
    const terminal = await open({ env });
    answer(server, { text: `The end ${hostile}` });
    await terminal.send("millrace -p hi > answer; echo DONE''-0");
    await terminal.waitForPrinted('DONE-0');
    const written = readFileSync(join(workspace.project, 'answer'), 'utf8');
    expect(written).toBe(`The end ${hostile}\n`);
  });
});
