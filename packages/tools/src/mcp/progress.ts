import type { Progress } from '@modelcontextprotocol/client';
import { clip } from './clip.ts';

const allShown = 128;
const maxLength = 500;

/** Tells progress as lines: at first all of it, then less and less, so that no server fills a log with it. */
export function progressTeller(update: (text: string) => void): (progress: Progress) => void {
  let count = 0;
  return (progress) => {
    count++;
    if (isShown(count)) update(`${lineOf(progress)}\n`);
  };
}

/** Of 129 to 256 every second, of 257 to 512 every fourth, and so on: 64 for each doubling. */
function isShown(count: number): boolean {
  if (count <= allShown) return true;
  const stride = 2 ** Math.ceil(Math.log2(count / allShown));
  return count % stride === 0;
}

function lineOf({ progress, total, message }: Progress): string {
  const done = total === undefined ? `${progress}` : `${progress}/${total}`;
  if (message === undefined || message.trim() === '') return done;
  return clip(total === undefined ? message : `${message} (${done})`, maxLength);
}
