import { Dialog } from '@millrace/react/controls';
import { Fragment } from 'react';
import { withBase } from '../server/base-path.ts';
import './forms.css';

type Keys = readonly (readonly [string, string])[];

const keys: Keys = [
  ['Enter', 'Sends the message, or queues it while the agent works'],
  ['Ctrl Enter', 'Steers: the message joins the next request of the run'],
  ['Shift Enter', 'Adds a line'],
  ['Esc', 'Stops the run and keeps its output'],
  ['Alt Y', 'Allows the waiting call'],
  ['Alt N', 'Denies the waiting call, with a reason'],
  ['Alt K', 'Starts a new session'],
  ['Ctrl K', 'Finds a session by its name or its messages'],
  ['?', 'Shows these keys'],
];

const listKeys: Keys = [
  ['↑ ↓', 'To the previous or next session'],
  ['F2', 'Renames the session'],
  ['Delete', 'Deletes the session, after a question'],
];

/** The keys of the inspector. They work everywhere in the inspector, except in text fields. */
const inspectorKeys: Keys = [
  ['← →', 'One record back or forward'],
  ['Shift ← →', 'To the previous or next fact'],
  ['Home', 'To the first record'],
  ['End', 'Back to now'],
  ['Space', 'Plays or pauses'],
  ['+ -', 'Zooms in or out'],
  ['0', 'Shows the whole session'],
  ['↑ ↓ ← →', 'In the tree: moves, folds and unfolds'],
  ['Enter', 'In the tree: zooms to the span'],
];

export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <KeyList keys={keys} />
      <h3>In the session list</h3>
      <KeyList keys={listKeys} />
      <h3>In the inspector</h3>
      <KeyList keys={inspectorKeys} />
      <p>
        <a href={withBase('/THIRD-PARTY.txt')} target="_blank" rel="noreferrer">
          Licences of the packages in this page
        </a>
      </p>
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
