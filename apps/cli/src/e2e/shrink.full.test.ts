import { expect, test } from 'vitest';
import { gatedAnswer, scriptedModel } from './testing/scripted-model.ts';
import {
  countOf,
  describeInTmux,
  startChat,
  terminalHarness,
  withoutLayout,
} from './testing/terminal-harness.ts';

const words = 'and the rain comes over the hills and down to the coast once more';
const lines = Array.from({ length: 12 }, (_, at) => `begin-${at} ${words} end-${at}\n\n`).join('');

describeInTmux().concurrent('23.12: shrinking the window to 20 × 8', () => {
  test('leaves no old copies of the answer, the status line and the prompt', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open } = terminalHarness(context, files);
    const terminal = await open({ env, columns: 100, rows: 30 });
    const { reply, gates } = gatedAnswer([`${lines}Open words at the `, 'end.\n\n']);
    server.reply(reply);
    await startChat(terminal);
    await terminal.send('Tell me');
    await terminal.waitFor('Open words at the');
    await terminal.resize(20, 8);
    for (const gate of gates) gate.open();
    await terminal.waitUntil(
      (screen) => withoutLayout(screen).includes('at the end.') && !screen.includes('answering'),
      'the end of the answer',
    );
    await terminal.saveScreen('shrunk-end');
    const everything = withoutLayout(await terminal.scrollback());
    expect(countOf(everything, 'Open words at the end.')).toBe(1);
    expect(countOf(everything, 'Open words')).toBe(1);
    expect(countOf(everything, 'answering ·')).toBe(0);
    expect(countOf(everything, '> Say')).toBe(1);
    for (let at = 0; at < 12; at++) expect(countOf(everything, `begin-${at} `)).toBe(1);
  });

  test('shows a question once', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open } = terminalHarness(context, files);
    const terminal = await open({ env, columns: 100, rows: 30 });
    const content = `${'some words of a long line in the file '.repeat(3)}\n`.repeat(12);
    const input = JSON.stringify({ path: 'a.txt', content });
    server.answer({ text: 'I write.', toolCalls: [{ name: 'write', arguments: input }] });
    await startChat(terminal);
    await terminal.send('Tell me');
    await terminal.waitFor('waiting for your answer');
    await terminal.resize(20, 8);
    const screen = await terminal.waitUntil(
      (seen) => /lines bel(?:ow|…)/.test(seen) && seen.includes('› No (n)'),
      'the question in the new size',
    );
    await terminal.saveScreen('shrunk-question');
    expect(countOf(screen, '? Write'), screen).toBe(1);
    expect(countOf(screen, '› No (n)'), screen).toBe(1);
  });
});
