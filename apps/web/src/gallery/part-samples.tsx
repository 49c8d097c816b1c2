import { itemId } from '@millrace/core';
import { BranchSwitch, type ItemActions, ItemActionsContext, UsageLine } from '@millrace/react';
import { Scrubber, type Track, type TurnSummary } from '@millrace/react/inspector';
import { useState } from 'react';
import { finishedSession } from './sample-sessions.ts';
import { Sample } from './token-samples.tsx';

/** The number of records of the sample on the scrubber. */
const records = 120;

const track: Track = {
  density: Array.from({ length: 40 }, (_, at) => ((at * 7) % 11) / 11),
  marks: [
    { offset: 12, from: 0.08, to: 0.3, label: 'Turn 1', hasError: false },
    { offset: 44, from: 0.35, to: 0.6, label: 'Turn 2', hasError: true },
    { offset: 80, from: 0.64, to: 0.98, label: 'Turn 3', hasError: false },
  ],
  placeOf: (offset) => offset / records,
  offsetAt: (place) => Math.round(place * records),
  shown: { from: 0.35, to: 1 },
};

const summary: TurnSummary = {
  words: 'I look up the order.',
  lines: [
    { kind: 'reasoning', width: 1 },
    { kind: 'reasoning', width: 0.6 },
    { kind: 'tool_call', width: 0.4 },
    { kind: 'tool_result', width: 0.8 },
    { kind: 'text', width: 1 },
    { kind: 'text', width: 0.3 },
  ],
};

/** Samples of the parts that belong to no message: branches, usage and the scrubber. */
export function PartSamples() {
  const [branch, setBranch] = useState(1);
  const [offset, setOffset] = useState(60);
  const ids = ['first', 'second', 'third'];
  const actions: ItemActions = {
    branches: () => ({ ids, at: branch }),
    open: (id) => setBranch(ids.indexOf(id)),
  };
  return (
    <>
      <Sample title="Branches and usage">
        <div className="sample-row">
          <ItemActionsContext value={actions}>
            <BranchSwitch itemId={itemId('question')} />
          </ItemActionsContext>
          <UsageLine source={finishedSession} />
        </div>
      </Sample>
      <Sample title="Scrubber">
        <Scrubber
          {...{ track, offset, last: records, moments: { a: 12, b: undefined } }}
          text={`record ${offset} of ${records}`}
          preview={() => summary}
          onOffset={setOffset}
        />
      </Sample>
    </>
  );
}
