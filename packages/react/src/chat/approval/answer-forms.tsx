import {
  disguisesInCall,
  type FindDisguises,
  type JsonValue,
  parseJson,
  type ToolCallPart,
} from '@millrace/core';
import { type FormEvent, useRef, useState } from 'react';
import { Button } from '../../design/button.tsx';
import { useKey } from '../../design/use-key.ts';
import { useLabels } from '../../labels/use-labels.ts';
import { unitOf, VisibleLines } from '../content/visible-text.tsx';
import { ownsKeys, useAnswerGate } from './answer-gate.ts';
import { ReadArea } from './read-area.tsx';

interface AnswerButtonsProps {
  /** Identifies the input of the call. */
  readonly inputKey: string;
  readonly rule: string | undefined;
  readonly isDisabled: boolean;
  /** True after the whole input was shown. */
  readonly isRead: boolean;
  /** False if the page cannot show the input. */
  readonly canAllow: boolean;
  /** False if the input is too long to edit. Undefined if the answer can never change the input. */
  readonly canChange: boolean | undefined;
  readonly onAllow: () => void;
  readonly onAllowSession: () => void;
  readonly onChange: () => void;
  readonly onDeny: () => void;
}

/**
 * The buttons that answer an approval request. The user can deny at any time. The user can allow a
 * call only after the page has shown the whole request.
 */
export function AnswerButtons(props: AnswerButtonsProps) {
  const t = useLabels();
  const { inputKey, rule, isDisabled, isRead, canAllow, canChange } = props;
  const { onAllow, onAllowSession, onChange, onDeny } = props;
  const bar = useRef<HTMLDivElement>(null);
  const gate = useAnswerGate(bar, inputKey);
  const isAllowDisabled = isDisabled || !gate.isOpen || !isRead || !canAllow;
  // If a key is meant for another card, that card handles it.
  useKey('alt+y', () => isOwnKey(bar) && (isAllowDisabled || gate.pass(onAllow)));
  useKey('alt+n', () => isOwnKey(bar) && (isDisabled || onDeny()));
  return (
    <div className="approval-bar" ref={bar}>
      <Button
        look="main"
        disabled={isAllowDisabled}
        onClick={() => gate.pass(onAllow)}
        title="Alt+Y"
      >
        {t.allow}
      </Button>
      {rule !== undefined && (
        <Button disabled={isAllowDisabled} onClick={() => gate.pass(onAllowSession)}>
          {t.allowInThisSession}
        </Button>
      )}
      {canChange !== undefined && (
        <Button disabled={isDisabled || !isRead || !canChange} onClick={onChange}>
          {t.changeTheInput}
        </Button>
      )}
      <Button look="danger" disabled={isDisabled} onClick={onDeny} title="Alt+N" data-default-focus>
        {t.deny}
      </Button>
    </div>
  );
}

function isOwnKey({ current }: { readonly current: HTMLElement | null }): boolean {
  return ownsKeys(current?.closest('.approval'));
}

interface SessionFormProps {
  readonly rule: string;
  readonly isDisabled: boolean;
  readonly onBack: () => void;
  readonly onAllow: () => void;
}

/**
 * Shows the rule that would allow further calls in this session, and asks the user to confirm it.
 */
export function SessionForm({ rule, isDisabled, onBack, onAllow }: SessionFormProps) {
  const t = useLabels();
  const [readRule, setReadRule] = useState<string>();
  const bar = useRef<HTMLDivElement>(null);
  const gate = useAnswerGate(bar, rule);
  const isRead = readRule === rule;
  return (
    <>
      <ReadArea
        label={t.rule}
        contentKey={rule}
        onEnd={setReadRule}
        hint={isRead ? t.ruleRead : t.scrollToAllow}
      >
        <p className="approval-reason">{t.ruleMeaning}</p>
        <div className="approval-input">
          <code className="approval-rule">
            <VisibleLines text={rule} find={disguisesInCall} />
          </code>
        </div>
      </ReadArea>
      <div className="approval-bar" ref={bar}>
        <Button
          look="main"
          disabled={isDisabled || !gate.isOpen || !isRead}
          onClick={() => gate.pass(onAllow)}
        >
          {t.allowAllTheseCalls}
        </Button>
        <Button look="quiet" onClick={onBack} data-default-focus>
          {t.back}
        </Button>
      </div>
    </>
  );
}

interface ChangeFormProps {
  readonly call: ToolCallPart;
  readonly isDisabled: boolean;
  /** Text that the user entered before closing the form. Undefined on the first opening. */
  readonly text: string | undefined;
  readonly onText: (text: string) => void;
  readonly onBack: () => void;
  readonly onError: (error: string | undefined) => void;
  readonly onInput: (input: JsonValue) => void;
}

/** A form in which the user edits the JSON input of a call and then allows the call. */
export function ChangeForm(props: ChangeFormProps) {
  const t = useLabels();
  const { call, isDisabled, onText, onBack, onError, onInput } = props;
  const bar = useRef<HTMLDivElement>(null);
  const gate = useAnswerGate(bar);
  const text = props.text ?? initialText(call);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = parseJson(text);
    if (!parsed.ok) return onError(t.notJson(parsed.failure.message));
    gate.pass(() => {
      onError(undefined);
      onInput(parsed.value);
    });
  };
  return (
    <form className="approval-form" onSubmit={submit}>
      <textarea
        aria-label={t.inputAsJson}
        className="approval-json"
        spellCheck={false}
        rows={Math.min(14, text.split('\n').length + 1)}
        value={text}
        // biome-ignore lint/a11y/noAutofocus: the user opened the form with a button
        autoFocus
        onChange={(event) => onText(event.target.value)}
      />
      <div className="approval-bar" ref={bar}>
        <Button look="main" type="submit" disabled={isDisabled || !gate.isOpen}>
          {t.allowWithThisInput}
        </Button>
        <Button look="quiet" onClick={onBack}>
          {t.back}
        </Button>
      </div>
    </form>
  );
}

/**
 * Returns the initial text of the form. Invisible characters are shown as JSON escapes, which have
 * the same meaning in JSON strings. If the text is not JSON, the user must correct it anyway.
 */
function initialText({ input, arguments: text }: ToolCallPart): string {
  return escapeInvisible(
    input === undefined ? text : JSON.stringify(input, null, 2),
    disguisesInCall,
  );
}

interface DenyFormProps {
  readonly isDisabled: boolean;
  readonly onBack: () => void;
  readonly onDeny: (reason: string) => void;
}

/** A form to deny the call with a reason. The agent receives the reason. */
export function DenyForm({ isDisabled, onBack, onDeny }: DenyFormProps) {
  const t = useLabels();
  const [reason, setReason] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onDeny(reason.trim());
  };
  return (
    <form className="approval-form" onSubmit={submit}>
      <input
        aria-label={t.reason}
        placeholder={t.reasonHint}
        value={reason}
        // biome-ignore lint/a11y/noAutofocus: the user opened the form with a button
        autoFocus
        onChange={(event) => setReason(event.target.value)}
      />
      <div className="approval-bar">
        <Button look="danger" type="submit" disabled={isDisabled}>
          {t.deny}
        </Button>
        <Button look="quiet" onClick={onBack}>
          {t.back}
        </Button>
      </div>
    </form>
  );
}

const controlCharacters = /(?![\n\t])\p{Cc}/gu;

/** Replaces hidden characters by JSON escapes. */
export function escapeInvisible(text: string, find: FindDisguises): string {
  let escaped = '';
  let through = 0;
  for (const { index, text: hidden } of find(text)) {
    escaped += text.slice(through, index) + hidden.split('').map(unitOf).join('');
    through = index + hidden.length;
  }
  return (escaped + text.slice(through)).replace(controlCharacters, unitOf);
}
