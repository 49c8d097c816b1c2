import { useLayoutEffect, useRef } from 'react';
import { onDemand } from '../../on-demand/on-demand.ts';
import type { StyledRun } from './terminal-text.ts';
import { VisibleText } from './visible-text.tsx';
import './output-text.css';

interface OutputTextProps {
  readonly text: string;
  /**
   * True while more output arrives. The view then follows the end, unless the user has scrolled up.
   */
  readonly isOpen: boolean;
}

/**
 * The code that interprets terminal escape sequences. Until it is loaded, the sequences are shown
 * as text.
 */
export const terminalText = onDemand(() => import('./terminal-text.ts'));

/** Matches an escape sequence, or a carriage return that overwrites a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals use control characters
const mayBeTerminalText = /[\u001b\r]/;

/** Shows the output of a tool. Terminal colors become colors of the page. */
export function OutputText({ text, isOpen }: OutputTextProps) {
  const place = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  const terminal = terminalText.useLoaded(mayBeTerminalText.test(text));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves when the text changes
  useLayoutEffect(() => {
    if (isOpen && isAtEnd.current && place.current)
      place.current.scrollTop = place.current.scrollHeight;
  }, [text, isOpen]);
  return (
    <pre
      ref={place}
      className="output-text"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < nearEnd;
      }}
    >
      {terminal?.isTerminalText(text) ? (
        terminal.styledRuns(text).map(styledRun)
      ) : (
        <VisibleText text={text} escapes="directions" />
      )}
    </pre>
  );
}

/** The view follows the output if it is at most this many pixels away from the end. */
const nearEnd = 24;

function styledRun({ text, style }: StyledRun, at: number) {
  const { color, background, isBold, isDim, isItalic, isUnderlined, isStruck, isInverse } = style;
  return (
    <span
      key={at}
      data-color={color}
      data-background={background}
      data-bold={isBold || undefined}
      data-dim={isDim || undefined}
      data-italic={isItalic || undefined}
      data-underlined={isUnderlined || undefined}
      data-struck={isStruck || undefined}
      data-inverse={isInverse || undefined}
    >
      <VisibleText text={text} escapes="directions" />
    </span>
  );
}
