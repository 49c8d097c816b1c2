import type { TaskHandle } from '@millrace/client';
import { type AskedApproval, parseJson, type ToolCallPart } from '@millrace/core';
import { type FormEvent, useId, useState } from 'react';
import { useKey } from '../../app/use-key.ts';
import { Button } from '../../design/button.tsx';
import { ShieldIcon } from '../../design/icons.tsx';
import { InputView } from '../tool/input-view.tsx';
import './approval-card.css';

export interface ApprovalCardProps {
  readonly asked: AskedApproval;
  readonly call: ToolCallPart;
  /** How many others wait behind it. */
  readonly more: number;
  readonly handle: TaskHandle | undefined;
}

type Mode = 'choose' | 'change' | 'deny';

/** May it run? As it is, with another input, or not. */
export function ApprovalCard({ asked, call, more, handle }: ApprovalCardProps) {
  const [mode, setMode] = useState<Mode>('choose');
  const [error, setError] = useState<string>();
  const [isSent, setSent] = useState(false);
  const titleId = useId();
  const { toolCallId, name, reason, rule } = asked;
  const answer = (send: (to: TaskHandle) => Promise<unknown>) => {
    if (handle === undefined || isSent) return;
    setSent(true);
    send(handle).then(
      () => setError(undefined),
      (failure: unknown) => {
        setSent(false);
        setError(failure instanceof Error ? failure.message : String(failure));
      },
    );
  };
  const allow = () => answer((to) => to.approve(toolCallId));
  useKey('alt+y', allow);
  useKey('alt+n', () => setMode('deny'));
  const isOff = handle === undefined || isSent;
  return (
    <section className="approval" aria-labelledby={titleId}>
      <header>
        <ShieldIcon />
        <h3 id={titleId}>
          Allow <code>{name}</code>?
        </h3>
        {more > 0 && <span className="approval-more">{more} more after this</span>}
      </header>
      {reason !== undefined && <p className="approval-reason">{reason}</p>}
      {mode !== 'change' && (
        <div className="approval-input">
          <InputView name={name} input={call.input} text={call.arguments} />
        </div>
      )}
      {mode === 'choose' && (
        <div className="approval-bar">
          <Button look="main" disabled={isOff} onClick={allow} title="Alt+Y">
            Allow
          </Button>
          {rule !== undefined && (
            <Button
              disabled={isOff}
              title={`All that is asked by: ${rule}`}
              onClick={() => answer((to) => to.approve(toolCallId, { until: 'session' }))}
            >
              Allow in this session
            </Button>
          )}
          <Button disabled={isOff} onClick={() => setMode('change')}>
            Change the input
          </Button>
          <Button look="danger" disabled={isOff} onClick={() => setMode('deny')} title="Alt+N">
            Deny
          </Button>
        </div>
      )}
      {mode === 'change' && (
        <ChangeForm
          call={call}
          isOff={isOff}
          onBack={() => setMode('choose')}
          onError={setError}
          onInput={(input) => answer((to) => to.approve(toolCallId, { input }))}
        />
      )}
      {mode === 'deny' && (
        <DenyForm
          isOff={isOff}
          onBack={() => setMode('choose')}
          onDeny={(why) => answer((to) => to.deny(toolCallId, why === '' ? {} : { reason: why }))}
        />
      )}
      {handle === undefined && (
        <p className="approval-reason">This is the past: go back to now to answer.</p>
      )}
      {error !== undefined && (
        <p className="composer-error" role="alert">
          {error}
        </p>
      )}
    </section>
  );
}

interface ChangeFormProps {
  readonly call: ToolCallPart;
  readonly isOff: boolean;
  readonly onBack: () => void;
  readonly onError: (error: string | undefined) => void;
  readonly onInput: (input: NonNullable<ToolCallPart['input']>) => void;
}

function ChangeForm({ call, isOff, onBack, onError, onInput }: ChangeFormProps) {
  const before = call.input === undefined ? call.arguments : JSON.stringify(call.input, null, 2);
  const [text, setText] = useState(before);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = parseJson(text);
    if (!parsed.ok) return onError(`This is not JSON: ${parsed.failure.message}`);
    onError(undefined);
    if (parsed.value !== null) onInput(parsed.value);
  };
  return (
    <form className="approval-form" onSubmit={submit}>
      <textarea
        aria-label="Input as JSON"
        className="approval-json"
        spellCheck={false}
        rows={Math.min(14, text.split('\n').length + 1)}
        value={text}
        // biome-ignore lint/a11y/noAutofocus: it was asked for by a press of a button
        autoFocus
        onChange={(event) => setText(event.target.value)}
      />
      <div className="approval-bar">
        <Button look="main" type="submit" disabled={isOff}>
          Allow with this input
        </Button>
        <Button look="quiet" onClick={onBack}>
          Back
        </Button>
      </div>
    </form>
  );
}

interface DenyFormProps {
  readonly isOff: boolean;
  readonly onBack: () => void;
  readonly onDeny: (reason: string) => void;
}

function DenyForm({ isOff, onBack, onDeny }: DenyFormProps) {
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
