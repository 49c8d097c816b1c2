import { Dialog } from '@millrace/react/controls';
import { Fragment } from 'react';
import { pageLabels, type TextKey } from '../languages/page-labels.ts';
import { withBase } from '../server/base-path.ts';
import './forms.css';

type Keys = readonly (readonly [string, TextKey])[];

const keys: Keys = [
  ['Enter', 'keySend'],
  ['Ctrl Enter', 'keySteer'],
  ['Shift Enter', 'keyLine'],
  ['Esc', 'keyStop'],
  ['Alt Y', 'keyAllow'],
  ['Alt N', 'keyDeny'],
  ['Alt K', 'keyNew'],
  ['Ctrl K', 'keyFind'],
  ['?', 'keyHelp'],
];

const listKeys: Keys = [
  ['↑ ↓', 'keyMove'],
  ['F2', 'keyRename'],
  ['Delete', 'keyDelete'],
];

/** The keys of the inspector. They work everywhere in the inspector, except in text fields. */
const inspectorKeys: Keys = [
  ['← →', 'keyRecord'],
  ['Shift ← →', 'keyFact'],
  ['Home', 'keyFirst'],
  ['End', 'backToNow'],
  ['Space', 'keyPlay'],
  ['+ -', 'keyZoom'],
  ['0', 'keyWhole'],
  ['↑ ↓ ← →', 'keyTree'],
  ['Enter', 'keyTreeZoom'],
];

export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  const t = pageLabels();
  return (
    <Dialog title={t.keys} onClose={onClose}>
      <KeyList keys={keys} />
      <h3>{t.inTheSessionList}</h3>
      <KeyList keys={listKeys} />
      <h3>{t.inTheInspector}</h3>
      <KeyList keys={inspectorKeys} />
      <p>
        <a href={withBase('/THIRD-PARTY.txt')} target="_blank" rel="noreferrer">
          {t.licences}
        </a>
      </p>
    </Dialog>
  );
}

function KeyList({ keys: listed }: { readonly keys: Keys }) {
  const t = pageLabels();
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
          <dd>{t[words]}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
