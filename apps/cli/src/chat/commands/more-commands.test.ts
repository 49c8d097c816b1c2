import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorkspace, editTool, writeTool } from '@millrace/tools';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { keys, TestChat, type TestChatOptions, toolCalls } from '../../testing/test-chat.ts';

const folder = temporaryFolder('chat-commands');

test('/vim turns the keys of vi on and off', async () => {
  const chat = new TestChat({ script: ['Done.'] });
  await chat.send('/vim');
  await chat.waitForText('The prompt has the keys of vi');
  await chat.idle();
  chat.type('one two');
  await chat.advance(50);
  chat.type(keys.escape);
  await chat.waitForText('NORMAL: i inserts');
  chat.type('0dwithree ');
  await chat.until(() => chat.terminal.screen.includes('> three two'));
  chat.type(keys.escape);
  await chat.waitForText('NORMAL: i inserts');
  chat.type(keys.enter);
  await chat.waitForText('› three two');
  await chat.waitForText('Done.');
  await chat.send('/vim');
  await chat.waitForText('The prompt has its usual keys.');
});

test('/diff shows what the session changed, from the first version to the last', async () => {
  writeFileSync(join(folder(), 'a.txt'), 'one\ntwo\n');
  const workspace = createWorkspace({ root: folder() });
  const edit = (id: string, before: string, after: string) =>
    toolCalls([id, 'edit', { path: 'a.txt', edits: [{ old_text: before, new_text: after }] }]);
  const chat = new TestChat({
    script: [
      edit('1', 'two', 'three'),
      edit('2', 'three', 'four'),
      toolCalls(['3', 'write', { path: 'b.txt', content: 'new\n' }]),
      'Done.',
    ],
    ...{ tools: [editTool(workspace), writeTool(workspace)], approve: () => 'allow' },
    ...{ cwd: folder(), rows: 60 },
  });
  await chat.send('/diff');
  await chat.waitForText('This session has changed no such file.');
  await chat.send('Go');
  await chat.waitForText('Done.');
  await chat.send('/diff');
  await chat.waitForText('b.txt  +1 −0, new');
  const shown = chat.terminal.text.slice(chat.terminal.text.indexOf('a.txt  +1 −1'));
  expect(shown).toContain('two');
  expect(shown).toContain('four');
  expect(shown).not.toContain('three');
});

test('/thinking shows and changes the effort of the next request', async () => {
  const chat = new TestChat({ script: ['Yes.'] });
  await chat.send('/thinking');
  await chat.waitForText('Reasoning effort: default');
  await chat.send('/thinking high');
  await chat.waitForText('Reasoning effort: high, from the next request on.');
  await chat.send('/thinking hard');
  await chat.waitForText('✗ There is no effort hard. Use one of default, none');
});

test('/model with a part of a name offers the models that have it, with prices', async () => {
  const chat = new TestChat({ columns: 140, env: { NO_COLOR: '1', ANTHROPIC_API_KEY: 'k' } });
  await chat.send('/model claude');
  await chat.waitForText('Which model?');
  expect(chat.terminal.screen).toMatch(/anthropic\/claude.*\$[\d.]+ in, \$[\d.]+ out/);
  expect(chat.terminal.screen).not.toContain('demo');
});

test('/share names itself if its time is wrong', async () => {
  const chat = new TestChat();
  await chat.send('/share forever');
  await chat.waitForText('✗ /share takes minutes, hours or days: 30m, 4h or 7d');
});

test('/search finds a text in messages, answers and calls', async () => {
  const chat = new TestChat({ script: ['The timeout is 5 s.'], columns: 120 });
  await chat.send('What about the TIMEOUT here?');
  await chat.waitForText('is 5 s.');
  await chat.send('/search timeout');
  await chat.waitForText('you    What about the TIMEOUT here?');
  await chat.waitForText('agent  The timeout is 5 s.');
  await chat.send('/search nowhere');
  await chat.waitForText('“nowhere” is not in this session.');
});

test('/copy sends the last answer to the clipboard, encoded', async () => {
  const chat = new TestChat({ script: ['Copy \u001b]52;c;AAAA\u0007 me'] });
  const written: string[] = [];
  const write = chat.terminal.write.bind(chat.terminal);
  chat.terminal.write = ((text: string, ...rest: never[]) => {
    written.push(String(text));
    return write(text, ...rest);
  }) as typeof chat.terminal.write;
  await chat.send('Say it');
  await chat.waitForText('me');
  await chat.send('/copy');
  await chat.waitForText('sent to the clipboard');
  // Control characters are removed, because the user may paste the text into a shell.
  const encoded = Buffer.from('Copy ]52;c;AAAA me').toString('base64');
  expect(written.filter((text) => text.includes('\u001b]52'))).toEqual([
    `\u001b]52;c;${encoded}\u0007`,
  ]);
});

test('/mcp shows the servers and connects again', async () => {
  let isUp = false;
  const servers = {
    list: () => [
      isUp
        ? ({ name: 'docs', state: 'connected', tools: 2 } as const)
        : ({ name: 'docs', state: 'failed', tools: 0, problem: 'it ended' } as const),
    ],
    reconnect: async () => {
      isUp = true;
    },
  };
  const chat = new TestChat({ servers });
  await chat.send('/mcp');
  await chat.waitForText('docs  failed: it ended');
  await chat.send('/mcp reconnect docs');
  await chat.waitForText('docs  connected, 2 tools');
  await chat.send('/mcp reconnect other');
  await chat.waitForText('✗ Use /mcp reconnect, login or logout <name>. The servers are: docs');
});

test('24.4: /mcp login shows the page, and the state after the login', async () => {
  const { promise: loggedIn, resolve } = Promise.withResolvers<void>();
  let isUp = false;
  const servers: TestChatOptions['servers'] = {
    list: () => [
      isUp
        ? { name: 'docs', state: 'connected', tools: 2 }
        : { name: 'docs', state: 'needs_login', tools: 0 },
    ],
    login: async (server, openPage) => {
      const issuer = 'https://auth.example.net';
      await openPage({ server, issuer, url: 'https://login.example.com/a' });
      await loggedIn;
      isUp = true;
    },
  };
  const chat = new TestChat({ servers });
  await chat.send('/mcp');
  await chat.waitForText('docs  needs a login: /mcp login docs');
  await chat.send('/mcp login docs');
  await chat.waitForText('Log in to the MCP server docs at login.example.com (for');
  await chat.waitForText('auth.example.net)');
  await chat.waitForText('https://login.example.com/a');
  resolve();
  await chat.waitForText('docs  connected, 2 tools');
});

test('/theme changes the colours, and refuses if the terminal has none', async () => {
  const plain = new TestChat();
  await plain.send('/theme dark');
  await plain.waitForText('✗ This terminal shows no colours');
  const chat = new TestChat({ env: { FORCE_COLOR: '1' }, script: ['# Title'] });
  await chat.send('/theme pink');
  await chat.waitForText('✗ There is no theme pink. Use one of auto, dark, light, none');
  await chat.send('/theme light');
  await chat.waitForText('Theme: light.');
});

test('/review and /init send a request to the agent', async () => {
  const chat = new TestChat({ script: ['No findings.', 'Written.'], rows: 60 });
  await chat.send('/review the last commit');
  await chat.waitForText('› Review the last commit.');
  await chat.waitForText('No findings.');
  await chat.send('/init');
  await chat.waitForText('Write AGENTS.md');
  await chat.waitForText('Written.');
});

test('Ctrl-R searches the earlier messages and puts one into the prompt', async () => {
  const chat = new TestChat({ script: ['A.', 'B.'] });
  await chat.send('First thing');
  await chat.waitForText('A.');
  await chat.send('Second thing');
  await chat.waitForText('B.');
  await chat.idle();
  chat.type(keys.ctrlR);
  await chat.waitForText('Earlier messages.');
  chat.type('first');
  await chat.waitUntilGone('1. Second thing');
  chat.type(keys.enter);
  await chat.waitForText('> First thing');
});

test('Ctrl-G opens the prompt in the editor of the user', async () => {
  const editor = join(folder(), 'editor.sh');
  writeFileSync(editor, '#!/bin/sh\nsed -i s/draft/text/ "$2"\n');
  chmodSync(editor, 0o700);
  const env = { NO_COLOR: '1', EDITOR: `${editor} --wait`, PATH: process.env['PATH'] };
  const chat = new TestChat({ env });
  await chat.idle();
  chat.type('My draft');
  await chat.waitForText('> My draft');
  chat.type(keys.ctrlG);
  await chat.waitForText('> My text');
});
