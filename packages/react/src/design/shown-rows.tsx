import { type ReactNode, useState } from 'react';
import { numberText, useLabels } from '../labels/use-labels.ts';
import { Button } from './button.tsx';

interface ShownRows {
  /** The number of rows to render. */
  readonly count: number;
  /** A button that shows more rows. False if all rows are shown. */
  readonly more: ReactNode;
}

/**
 * Limits the number of rows of a long list, because rendering thousands of rows would freeze the
 * page.
 */
export function useShownRows(total: number, pageSize: number): ShownRows {
  const t = useLabels();
  const [count, setCount] = useState(pageSize);
  const left = total - count;
  const more = left > 0 && (
    <Button size="small" look="quiet" onClick={() => setCount(count + 10 * pageSize)}>
      {t.showMoreOf(numberText(t, left))}
    </Button>
  );
  return { count, more };
}
