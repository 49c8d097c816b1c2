import { useState } from 'react';
import { type ClipLimits, clip } from './clip.ts';
import { MoreBar } from './more-bar.tsx';
import { VisibleText } from './visible-text.tsx';

const folded: ClipLimits = { headLines: 8, headLength: 320, tailLines: 4, tailLength: 200 };

/** More than that at once would make the page stand still. */
const atOnce = 100_000;

/** A text of any length: its head and its tail, and all of it for whoever wants to see it. */
export function LongText({ text }: { readonly text: string }) {
  const [level, setLevel] = useState(0);
  const { head, tail, between } = clip(text, limitsAt(level));
  const isAllNext = text.length <= atOnce * 10 ** level;
  const size = text.length.toLocaleString('en');
  const next = isAllNext ? `Show all ${size} characters` : `Show more of ${size} characters`;
  return (
    <>
      <div className="long-text" tabIndex={level > 0 ? 0 : undefined} data-all={level > 0}>
        <VisibleText text={head} />
        {between !== undefined && <Gap words={between} />}
        <VisibleText text={tail} />
      </div>
      <MoreBar {...{ level, onLevel: setLevel, next: between && next }} />
    </>
  );
}

/** What is left out here. */
export function Gap({ words }: { readonly words: string }) {
  return <span className="gap">… {words} …</span>;
}

function limitsAt(level: number): ClipLimits {
  if (level === 0) return folded;
  const length = (atOnce / 2) * 10 ** (level - 1);
  return { headLines: length, headLength: length, tailLines: length, tailLength: length };
}
