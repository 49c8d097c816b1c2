import type { Connection } from '@millrace/client';
import { Composer, ConnectionBanner } from '@millrace/react';
import { Button, IconButton, PlusIcon, Skeleton, StopIcon } from '@millrace/react/controls';
import { Sample } from './token-samples.tsx';
import '../app/forms.css';

const looks = ['main', 'plain', 'quiet', 'danger'] as const;
const nothing = () => {};
const send = async () => {};

const lost = new Error('The server does not answer.');
const connections: readonly (readonly [string, Connection])[] = [
  ['retrying', { state: 'retrying', error: lost, failures: 2, nextTryAt: 0 } as never],
  ['failed', { state: 'failed', error: lost } as never],
];

/** Samples of buttons, fields, banners, badges, skeletons and the message field. */
export function ControlSamples({ theme }: { readonly theme: string }) {
  return (
    <>
      <Sample title="Buttons">
        {([undefined, 'small'] as const).map((size) => (
          <div key={size ?? 'normal'} className="sample-row">
            {looks.map((look) => (
              <Button key={look} look={look} {...(size && { size })}>
                {look === 'danger' && <StopIcon />} {look}
              </Button>
            ))}
            <IconButton label={`Add, ${size ?? 'normal'}`} {...(size && { size })}>
              <PlusIcon />
            </IconButton>
          </div>
        ))}
        <div className="sample-row">
          {looks.map((look) => (
            <Button key={look} look={look} disabled>
              {look}, disabled
            </Button>
          ))}
        </div>
      </Sample>
      <Sample title="Fields and keys">
        <form className="form">
          <label>
            Name
            <input defaultValue="Weather for Bern" />
          </label>
          <p role="alert">A name is required.</p>
        </form>
        <p>
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </p>
      </Sample>
      <Sample title="Badges">
        <div className="sample-row">
          <span className="status">stopped</span>
          <span className="status" data-look="bad">
            failed
          </span>
          <span className="spinner" aria-hidden="true" />
        </div>
      </Sample>
      <Sample title="Connection">
        {connections.map(([state, connection]) => (
          <ConnectionBanner key={state} {...{ connection }} onReconnect={nothing} />
        ))}
      </Sample>
      <Sample title="Loading">
        <Skeleton label="Loading a sample" />
      </Sample>
      <Sample title="Message field: idle, in a run, sending">
        <Composer draftKey={`gallery ${theme} idle`} placeholder="Message builder" onSend={send} />
        <Composer
          draftKey={`gallery ${theme} run`}
          placeholder="Message builder"
          isRunning
          canSteer
          onSend={send}
          onStop={send}
        />
        <Composer
          draftKey={`gallery ${theme} busy`}
          placeholder="Message builder"
          isBusy
          onSend={send}
        />
      </Sample>
    </>
  );
}
