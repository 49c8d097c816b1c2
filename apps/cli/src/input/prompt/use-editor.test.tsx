import { TestClock } from '@millrace/log/suite';
import { Box, render } from 'ink';
import type { ReactElement } from 'react';
import { describe, expect, test } from 'vitest';
import { FakeKeyboard } from '../../testing/fake-terminal.ts';
import { FrameOutput } from '../../testing/output-streams.ts';
import type { CompletionSources } from '../completion/completion.ts';
import type { HistoryEntry } from '../editor/editor-state.ts';
import type { Key } from '../keys/key.ts';
import { useKeys } from '../keys/use-keys.ts';
import { Prompt } from './prompt.tsx';
import { type UseEditorOptions, useEditor } from './use-editor.ts';

const history: readonly HistoryEntry[] = [{ text: 'earlier' }];
const sources: CompletionSources = { commands: [{ name: '/help', description: 'What there is' }] };

/** A component that receives the keys while the editor is not active. */
function Chat(options: UseEditorOptions & { readonly onOther: (key: Key) => void }): ReactElement {
  const { state, menu } = useEditor(options);
  useKeys(({ keys }) => keys.forEach(options.onOther), { isActive: options.isActive === false });
  return (
    <Box>
      <Prompt state={state} menu={menu} width={options.width} isBusy={options.isBusy} hint="" />
    </Box>
  );
}

/** Opens a chat in its own terminal. */
function open(given: Partial<UseEditorOptions> = {}) {
  const stdin = new FakeKeyboard();
  const stdout = new FrameOutput();
  const clock = new TestClock();
  const calls: string[] = [];
  const options = {
    onOther: (key: Key) => calls.push(`other ${key.type}`),
    width: 40,
    isBusy: false,
    history,
    sources,
    clock,
    onSubmit: (text: string) => calls.push(`submit ${JSON.stringify(text)}`),
    onQueue: (text: string) => calls.push(`queue ${text}`),
    onStop: () => calls.push('stop'),
    onLeave: () => calls.push('leave'),
    onSent: ({ text }: HistoryEntry) => calls.push(`sent ${text}`),
    ...given,
  };
  const chat = render(<Chat {...options} />, {
    stdin,
    stdout,
    debug: true,
    exitOnCtrlC: false,
    patchConsole: false,
  });
  return {
    stdin,
    stdout,
    clock,
    calls,
    chat,
    async change(more: Partial<UseEditorOptions>) {
      chat.rerender(<Chat {...options} {...more} />);
      await chat.waitUntilRenderFlush();
    },
    async send(...chunks: readonly (string | Uint8Array)[]) {
      for (const chunk of chunks) {
        stdin.write(chunk);
        await chat.waitUntilRenderFlush();
      }
      return stdout.screen;
    },
    async [Symbol.asyncDispose]() {
      chat.unmount();
      await chat.waitUntilExit();
    },
  };
}

describe('useEditor', () => {
  test('draws typed text and sends it on Enter, in one chunk or in many', async () => {
    await using prompt = open();
    expect(await prompt.send('hel', 'lo')).toEqual(['> hello']);
    expect(await prompt.send(' you\rnext')).toEqual(['> next']);
    expect(prompt.calls).toEqual(['sent hello you', 'submit "hello you"']);
  });

  test('joins a paste from several chunks and sends it as one', async () => {
    await using prompt = open();
    const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`);
    await prompt.send('\u001b[20', `0~${lines.slice(0, 20).join('\r')}\r`);
    expect(await prompt.send(`${lines.slice(20).join('\r')}\u001b[201~`)).toEqual([
      '> [pasted 40 lines]',
    ]);
    // Enter that arrives together with the end of a paste belongs to the paste.
    await prompt.clock.advance(200);
    await prompt.send('\r');
    expect(prompt.calls.at(-1)).toBe(`submit ${JSON.stringify(lines.join('\n'))}`);
  });

  test('joins a character that arrives in two chunks', async () => {
    await using prompt = open();
    const bytes = new TextEncoder().encode('漢字👩');
    expect(await prompt.send(bytes.slice(0, 4), bytes.slice(4, 8), bytes.slice(8))).toEqual([
      '> 漢字👩',
    ]);
  });

  test('Esc stops a run after the escape timeout', async () => {
    await using prompt = open({ isBusy: true });
    await prompt.send('\u001b');
    expect(prompt.calls).toEqual([]);
    await prompt.clock.advance(50);
    expect(prompt.calls).toEqual(['stop']);
  });

  test('steers, queues and leaves according to the keys', async () => {
    await using prompt = open({ isBusy: true });
    await prompt.send('a\rb\u001b\r\u0003');
    await prompt.change({ isBusy: false });
    await prompt.send('\u0003');
    expect(prompt.calls).toEqual(['sent a', 'submit "a"', 'sent b', 'queue b', 'stop', 'leave']);
  });

  test('moves through the history, and adds sent texts to it', async () => {
    await using prompt = open();
    await prompt.send('newer\r');
    expect(await prompt.send('\u001b[A')).toEqual(['> newer']);
    expect(await prompt.send('\u001b[A')).toEqual(['> earlier']);
    expect(await prompt.send('\u001b[B', '\u001b[B')).toEqual(['>']);
  });

  test('does not record a text with a leading space', async () => {
    await using prompt = open();
    await prompt.send(' quiet\r');
    expect(prompt.calls).toEqual(['submit " quiet"']);
  });

  test('offers completions, and requests files when an @ is typed', async () => {
    let wanted = 0;
    await using prompt = open({ onFilesWanted: () => wanted++ });
    expect(await prompt.send('/h')).toEqual(['> /h', '> /help  What there is', expect.anything()]);
    expect(wanted).toBe(0);
    await prompt.send('\u0003see @ma');
    expect(wanted).toBe(1);
    await prompt.change({ sources: { files: ['src/main.ts'] } });
    expect(prompt.stdout.screen[1]).toBe('> src/main.ts');
    expect(await prompt.send('\t')).toEqual(['> see @src/main.ts']);
  });

  test('calls onKey first for each key', async () => {
    await using prompt = open({ onKey: (key) => key.type === 'text' && key.text === 'x' });
    expect(await prompt.send('a', 'x', 'b')).toEqual(['> ab']);
  });

  test('ignores keys while it is not active, and keeps its text', async () => {
    await using prompt = open();
    await prompt.send('draft');
    await prompt.change({ isActive: false });
    await prompt.send('y\r');
    await prompt.change({ isActive: true });
    expect(await prompt.send('!')).toEqual(['> draft!']);
    expect(prompt.calls).toEqual(['other text', 'other key']);
  });

  test('turns raw mode and bracketed paste on, and off again', async () => {
    const prompt = open();
    await prompt.chat.waitUntilRenderFlush();
    expect(prompt.stdin.isRaw).toBe(true);
    expect(prompt.stdout.writes).toContain('\u001b[?2004h');
    await prompt[Symbol.asyncDispose]();
    expect(prompt.stdin.isRaw).toBe(false);
    expect(prompt.stdout.writes).toContain('\u001b[?2004l');
    expect(prompt.stdin.listenerCount('data')).toBe(0);
  });
});
