import type { JsonValue } from '@millrace/core';
import { useState } from 'react';
import { useShownRows } from '../../design/shown-rows.tsx';
import { VisibleText } from './visible-text.tsx';

/** The number of entries that are shown before a button shows more. */
const pageSize = 50;

/** Nested values up to this depth are initially unfolded, if they have few entries. */
const openDepth = 1;
const openSize = 20;

interface EntryProps {
  /** The property name or the array index of the value. Undefined for the outermost value. */
  readonly name?: string;
  readonly value: JsonValue;
  readonly depth?: number;
}

/** Shows a JSON value with its entries. Entries are rendered when they are unfolded. */
export function Entry({ name, value, depth = 0 }: EntryProps) {
  if (typeof value !== 'object' || value === null)
    return (
      <div className="json-entry">
        <Name name={name} />
        <Scalar value={value} />
      </div>
    );
  return <Branch {...{ name, value, depth }} />;
}

interface BranchProps {
  readonly name: string | undefined;
  readonly value: Exclude<JsonValue, string | number | boolean | null>;
  readonly depth: number;
}

function Branch({ name, value, depth }: BranchProps) {
  const entries = Object.entries(value);
  const [isOpen, setOpen] = useState(depth <= openDepth && entries.length <= openSize);
  const { count, more } = useShownRows(entries.length, pageSize);
  const summary = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <details
      className="json-entry"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <Name name={name} />
        <span className="json-count">{summary}</span>
      </summary>
      {isOpen && (
        <div className="json-entries">
          {entries.slice(0, count).map(([key, one]) => (
            <Entry key={key} name={key} value={one as JsonValue} depth={depth + 1} />
          ))}
          {more}
        </div>
      )}
    </details>
  );
}

function Name({ name }: { readonly name: string | undefined }) {
  if (name === undefined) return null;
  return (
    <span className="json-name">
      <VisibleText text={name} />
      {': '}
    </span>
  );
}

function Scalar({ value }: { readonly value: string | number | boolean | null }) {
  const kind = value === null ? 'null' : typeof value;
  return (
    <span className="json-value" data-kind={kind}>
      <VisibleText text={JSON.stringify(value)} escapes="directions" />
    </span>
  );
}
