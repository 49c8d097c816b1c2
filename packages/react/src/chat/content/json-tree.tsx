import type { JsonValue } from '@millrace/core';
import { onDemand } from '../../on-demand/on-demand.ts';
import { VisibleText } from './visible-text.tsx';
import './json-tree.css';

/** The code that shows the entries of a JSON value. */
export const jsonEntries = onDemand(() => import('./json-entries.tsx'));

/** Maximum number of characters of the value that are shown while the code loads. */
const maxStart = 200;

/** Shows a JSON value as a tree. */
export function JsonTree({ value }: { readonly value: JsonValue }) {
  const Entry = jsonEntries.useLoaded(true)?.Entry;
  return (
    <div className="json-tree">
      {Entry === undefined ? (
        <VisibleText text={JSON.stringify(value).slice(0, maxStart)} escapes="directions" />
      ) : (
        <Entry value={value} />
      )}
    </div>
  );
}
