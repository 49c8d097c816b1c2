import { Fragment } from 'react';
import { Dialog } from '../design/dialog.tsx';
import './forms.css';

const keys: readonly (readonly [string, string])[] = [
  ['Enter', 'Sends, or queues what is said while the agent works'],
  ['Ctrl Enter', 'Steers: joins the next request of what goes on'],
  ['Shift Enter', 'A new line'],
  ['Esc', 'Stops what goes on; what was said is kept'],
  ['Alt Y', 'Allows the call that waits'],
  ['Alt N', 'Denies it, with a reason'],
  ['Alt K', 'A new session'],
  ['?', 'These keys'],
];

export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {keys.map(([key, words]) => (
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
    </Dialog>
  );
}
