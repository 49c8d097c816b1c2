import { expect, test } from 'vitest';
import { loadExtensionCode } from '../extensions/code/load-code.ts';
import { noExtensions } from '../extensions/load-extensions.ts';
import { temporaryFolder, writeExtension } from '../testing/temporary-folder.ts';
import { TestChat } from '../testing/test-chat.ts';

const folder = temporaryFolder('extension-keys');
const text = `export default (millrace) => {
  millrace.command({
    name: 'louder', description: 'Louder', argument: '<text>', key: 'alt+o',
    run: (typed) => ({ print: 'I heard ' + typed, prompt: typed.toUpperCase() }),
  });
  millrace.command({ name: 'ask', description: 'Ask', key: 'ctrl+o', run: () => ({ send: 'Tell me' }) });
};`;

async function openChat() {
  const modules = [writeExtension(folder(), 'keys.ts', text)];
  const code = await loadExtensionCode(modules, { cwd: folder(), env: {} });
  const chat = new TestChat({
    script: ['An answer', 'Another answer'],
    extensions: { ...noExtensions, modules, code },
  });
  return { chat, close: () => code?.close() };
}

test('23: a key runs the command of an extension, with the text in the prompt', async ({
  onTestFinished,
}) => {
  const { chat, close } = await openChat();
  onTestFinished(() => close());
  await chat.idle();
  chat.type('hello');
  await chat.waitForText('> hello');
  await chat.advance(2000);
  chat.type('\u001bo');
  await chat.waitForText('I heard hello');
  await chat.waitForText('> HELLO');
  await chat.advance(2000);
  chat.type('\u000f');
  await chat.waitForText('An answer');
  expect(chat.terminal.text).toContain('Tell me');
});

test('23: the bytes of a key in a paste run no command', async ({ onTestFinished }) => {
  const { chat, close } = await openChat();
  onTestFinished(() => close());
  await chat.idle();
  chat.type('hello\u000f');
  await chat.advance(100);
  chat.type('\u001b[200~\u000f\u001bo\u001b[201~');
  for (let ms = 0; ms < 2000; ms += 100) await chat.advance(100);
  expect(chat.terminal.text).not.toContain('Tell me');
  expect(chat.terminal.text).not.toContain('I heard');
});
