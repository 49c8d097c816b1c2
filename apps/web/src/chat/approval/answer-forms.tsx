import { type JsonValue, parseJson, type ToolCallPart } from '@millrace/core';
import { type FormEvent, useEffect, useState } from 'react';
import { useKey } from '../../app/use-key.ts';
import { Button } from '../../design/button.tsx';
import { escaped } from '../content/visible-text.tsx';

interface ChooseBarProps {
  readonly rule: string | undefined;
  readonly isOff: boolean;
  readonly onAllow: () => void;
  readonly onAllowSession: () => void;
  readonly onChange: () => void;
  readonly onDeny: () => void;
}

/** The answers. What lets something run can be given only when the question was seen. */
export function ChooseBar(props: ChooseBarProps) {
  const { rule, isOff, onAllow, onAllowSession, onChange, onDeny } = props;
  const isArmed = useArmed();
  const isAllowOff = isOff || !isArmed;
  useKey('alt+y', () => {
    if (!isAllowOff) onAllow();
  });
  useKey('alt+n', () => {
    if (!isOff) onDeny();
  });
  return (
    <div className="approval-bar">
      <Button look="main" disabled={isAllowOff} onClick={onAllow} title="Alt+Y">
        Allow
      </Button>
      {rule !== undefined && (
        <Button
          disabled={isAllowOff}
          title={`All that is asked by: ${escaped(rule)}`}
          onClick={onAllowSession}
        >
          Allow in this session
        </Button>
      )}
      <Button disabled={isOff} onClick={onChange}>
        Change the input
      </Button>
      <Button look="danger" disabled={isOff} onClick={onDeny} title="Alt+N">
        Deny
      </Button>
    </div>
  );
}

/** As long as it takes to see that there is something new, and longer than between two clicks. */
const pauseMs = 600;

/** What is pressed meanwhile was meant for something else. */
const presses = ['keydown', 'keyup', 'pointerup', 'pointercancel', 'visibilitychange'] as const;

/**
 * Whether what appeared may be answered: it was in sight for a moment in which nothing was pressed.
 * A second click, or a key that is held, so never answers what has just taken another's place.
 */
function useArmed(): boolean {
  const [isArmed, setArmed] = useState(false);
  useEffect(() => {
    if (isArmed) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hold = () => clearTimeout(timer);
    const wait = () => {
      hold();
      if (document.visibilityState !== 'hidden') timer = setTimeout(() => setArmed(true), pauseMs);
    };
    wait();
    const listening = new AbortController();
    const how = { capture: true, signal: listening.signal };
    for (const type of presses) document.addEventListener(type, wait, how);
    document.addEventListener('pointerdown', hold, how);
    return () => {
      hold();
      listening.abort();
    };
  }, [isArmed]);
  return isArmed;
}

interface ChangeFormProps {
  readonly call: ToolCallPart;
  readonly isOff: boolean;
  /** What was written here before. */
  readonly text: string | undefined;
  readonly onText: (text: string) => void;
  readonly onBack: () => void;
  readonly onError: (error: string | undefined) => void;
  readonly onInput: (input: JsonValue) => void;
}

/** Another input, as JSON. */
export function ChangeForm(props: ChangeFormProps) {
  const { call, isOff, onText, onBack, onError, onInput } = props;
  const text = props.text ?? textOf(call);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = parseJson(text);
    if (!parsed.ok) return onError(`This is not JSON: ${parsed.failure.message}`);
    onError(undefined);
    onInput(parsed.value);
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
        onChange={(event) => onText(event.target.value)}
      />
      <div className="approval-bar">
        <Button
          look="main"
          type="submit"
          disabled={isOff}
          // The second of two clicks was meant for what was here before.
          onClick={(event) => event.detail > 1 && event.preventDefault()}
        >
          Allow with this input
        </Button>
        <Button look="quiet" onClick={onBack}>
          Back
        </Button>
      </div>
    </form>
  );
}

/** In JSON an escape says the same as what one cannot see, which is so in its strings alone. */
function textOf({ input, arguments: text }: ToolCallPart): string {
  return input === undefined ? text : escaped(JSON.stringify(input, null, 2));
}

interface DenyFormProps {
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
