import { Fragment } from 'react';
import { Dialog } from '../design/dialog.tsx';
import './forms.css';

type Keys = readonly (readonly [string, string])[];

const keys: Keys = [
  ['Enter', 'Sends, or queues what is said while the agent works'],
  ['Ctrl Enter', 'Steers: joins the next request of what goes on'],
  ['Shift Enter', 'A new line'],
  ['Esc', 'Stops what goes on; what was said is kept'],
  ['Alt Y', 'Allows the call that waits'],
  ['Alt N', 'Denies it, with a reason'],
  ['Alt K', 'A new session'],
  ['?', 'These keys'],
];

/** These keys work anywhere in the inspector, except in text fields. */
const inspectorKeys: Keys = [
  ['← →', 'One record back, or on'],
  ['Shift ← →', 'To the fact before, or the next'],
  ['Home', 'To the first record'],
  ['End', 'Back to now'],
  ['Space', 'Plays from here, or pauses'],
  ['+ -', 'Closer, or farther'],
  ['0', 'All of the session'],
];

export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <KeyList keys={keys} />
      <h3>In the inspector</h3>
      <KeyList keys={inspectorKeys} />
    </Dialog>
  );
}

function KeyList({ keys: listed }: { readonly keys: Keys }) {
  return (
    <dl className="keys">
      {listed.map(([key, words]) => (
        <Fragment key={key}>
          <dt>
            {key.split(' ').map((part) => (
              <Fragment key={part}>
                <kbd>{part}</kbd>{' '}
              </Fragment>
            ))}
          </dt>
          <dd>{words}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
