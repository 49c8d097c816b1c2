import type { DialogController } from '../dialog/dialog-controller.ts';
import type { DebouncedSize } from './debounced-size.ts';
import type { Display } from './display.ts';

/** Releases the terminal, runs a callback, and takes the terminal back. */
export type Suspend = (callback: () => Promise<void>) => Promise<void>;

interface Chat {
  readonly display: Pick<Display, 'isAway' | 'drawNow'>;
  readonly dialogs: Pick<DialogController, 'hide'>;
}

interface Leave {
  readonly suspend: Suspend;
  readonly work: () => Promise<void>;
}

/**
 * Runs work while another program uses the terminal, or while the process is stopped. The chat draws nothing and reads
 * no key. A question that appears in this time is new when the chat is back, and an earlier question is shown again.
 * So keys that the user typed for the other program never answer a question.
 */
export async function leaveTerminal(
  { display, dialogs }: Chat,
  size: Pick<DebouncedSize, 'pause' | 'resume'>,
  { suspend, work }: Leave,
): Promise<void> {
  const comeBack = () => {
    display.isAway = false;
    size.resume();
  };
  size.pause();
  display.isAway = true;
  dialogs.hide();
  try {
    await suspend(() => work().finally(comeBack));
  } finally {
    comeBack();
    display.drawNow();
  }
}
