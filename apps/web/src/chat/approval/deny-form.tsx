import { type FormEvent, useState } from 'react';
import { Button } from '../../design/button.tsx';

export interface DenyFormProps {
  readonly isOff: boolean;
  readonly onBack: () => void;
  readonly onDeny: (reason: string) => void;
}

/** Why not, for the agent. */
export function DenyForm({ isOff, onBack, onDeny }: DenyFormProps) {
  const [reason, setReason] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onDeny(reason.trim());
  };
  return (
    <form className="approval-form" onSubmit={submit}>
      <input
        aria-label="Why not"
        placeholder="Why not, or what to do instead: the agent reads it"
        value={reason}
        // biome-ignore lint/a11y/noAutofocus: it was asked for by a press of a button
        autoFocus
        onChange={(event) => setReason(event.target.value)}
      />
      <div className="approval-bar">
        <Button look="danger" type="submit" disabled={isOff}>
          Deny
        </Button>
        <Button look="quiet" onClick={onBack}>
          Back
        </Button>
      </div>
    </form>
  );
}
