import { Box, Text } from 'ink';
import type { ReactElement } from 'react';
import { widestLine } from '../../text/cells/cell-width.ts';
import { onlyStyles, unwrapped } from '../../text/terminal/terminal-gate.ts';

interface LinesProps {
  readonly lines: readonly string[];
}

/** Draws printed lines. A line that is wider than the terminal is not cut, so that the terminal wraps it. */
export function PrintedLines({ lines }: LinesProps): ReactElement {
  return (
    <Box flexDirection="column" width={Math.max(1, widestLine(lines))} flexShrink={0}>
      <Lines lines={lines} />
    </Box>
  );
}

interface FrameLinesProps extends LinesProps {
  /** False while a question is open. */
  readonly mayWrap: boolean;
}

/**
 * Draws lines of the live region. While a question is open, the terminal wraps none of them, even if it draws characters
 * wider than the chat assumes. A wrapped line would move or overwrite the lines of the question.
 */
export function FrameLines({ lines, mayWrap }: FrameLinesProps): ReactElement {
  return <Lines lines={lines} paint={mayWrap ? undefined : unwrapped} />;
}

interface PaintedLinesProps extends LinesProps {
  /** Changes each line after its check. Default: no change. */
  readonly paint?: ((line: string) => string) | undefined;
}

/**
 * Draws each line as a separate element, so that the renderer does not measure unchanged lines
 * again.
 */
function Lines({ lines, paint = (line) => line }: PaintedLinesProps): ReactElement {
  return (
    <Box flexDirection="column" flexShrink={0}>
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
        <Text key={index} wrap="truncate-end">
          {line === '' ? ' ' : paint(onlyStyles(line))}
        </Text>
      ))}
    </Box>
  );
}
