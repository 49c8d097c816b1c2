import type { JsonValue } from '@millrace/core';
import { HandoffIcon } from '../../design/icons.tsx';
import { CodeView } from '../../markdown/code-view.tsx';
import { handoffIn } from '../tool/handoff.ts';
import { VisibleText } from '../tool/visible-text.tsx';

export interface StructuredViewProps {
  readonly value: JsonValue;
  readonly isOpen: boolean;
}

/** Data: in words where they are known, else as it is. */
export function StructuredView({ value, isOpen }: StructuredViewProps) {
  const [from, to] = handoffIn(value) ?? [];
  if (from === undefined || to === undefined)
    return <CodeView text={JSON.stringify(value, null, 2)} lang="json" isDone={!isOpen} />;
  return (
    <p className="notice">
      <HandoffIcon />
      <span>
        <VisibleText text={from} /> handed over to <VisibleText text={to} />
      </span>
    </p>
  );
}
