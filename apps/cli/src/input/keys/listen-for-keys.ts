import type { Clock } from '@millrace/agent';
import type { Host } from '../../contract/host.ts';
import { type KeyRead, KeyReader } from './key-reader.ts';

interface KeyListener {
  readonly onRead: (read: KeyRead) => void;
  /** Called when the input ends or the signal aborts. */
  readonly onCancel: () => void;
  /** True if the listener also gets the text that the user typed before raw mode was on. Default: false. */
  readonly takesTypeAhead?: boolean | undefined;
}

/** Reads keys in raw mode, outside of the chat. Returns a function that stops reading. */
export function listenForKeys(
  { stdin, signal, clock }: Pick<Host, 'stdin' | 'signal'> & { readonly clock: Clock },
  { onRead, onCancel, takesTypeAhead = false }: KeyListener,
): () => void {
  const reader = new KeyReader({ clock, onRead });
  const decoder = new TextDecoder();
  let isFirst = takesTypeAhead;
  const listen = (chunk: string | Buffer) => {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    reader.push(isFirst ? typedBeforeStart(text) : text);
    isFirst = false;
  };
  stdin.setRawMode?.(true);
  stdin.on('data', listen);
  // An earlier question paused the input, and a listener alone does not resume it.
  stdin.resume();
  stdin.once('end', onCancel);
  signal.addEventListener('abort', onCancel, { once: true });
  if (signal.aborted) onCancel();
  return () => {
    reader.reset();
    signal.removeEventListener('abort', onCancel);
    stdin.off('end', onCancel);
    stdin.off('data', listen);
    stdin.setRawMode?.(false);
    stdin.pause();
  };
}

/**
 * Returns text that the user typed before raw mode was on. Until then, the terminal turns Enter
 * into a line feed, which the parser would read as Ctrl-J. So line feeds become Enter again.
 */
export function typedBeforeStart(text: string): string {
  return text.startsWith('\u001b') ? text : text.replaceAll('\n', '\r');
}
