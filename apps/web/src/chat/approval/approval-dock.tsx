import type { TaskHandle } from '@millrace/client';
import { type AskedApproval, type ToolCallPart, toolCallPart } from '@millrace/core';
import {
  type KeyboardEvent,
  type RefObject,
  useCallback,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { ShieldIcon } from '../../design/icons.tsx';
import { VisibleText } from '../content/visible-text.tsx';
import { type ChatSource, findCall, usePart, useSourceValue } from '../state/chat-source.ts';
import { AnswerButtons, ChangeForm, DenyForm, readHint, SessionForm } from './answer-forms.tsx';
import { ReadArea, scrollByKey } from './read-area.tsx';
import { inputFacts, RequestedInput } from './requested-input.tsx';
import './approval-dock.css';

const selectAsked = ({ state }: ChatSource) => state.asked;

/** Shows the calls that wait for an approval, one after the other. */
export function ApprovalDock({
  source,
  handle,
}: {
  readonly source: ChatSource;
  /** The handle of the task. Undefined while the inspector shows an earlier moment. */
  readonly handle: TaskHandle | undefined;
}) {
  const asked = useSourceValue(source, selectAsked);
  const [first] = asked;
  const hadFocus = useRef(false);
  useLayoutEffect(() => {
    if (first === undefined && hadFocus.current) focusComposer();
    hadFocus.current = false;
  }, [first]);
  if (first === undefined) return null;
  const more = asked.length - 1;
  return (
    <ApprovalRequest key={first.toolCallId} {...{ source, handle, asked: first, more, hadFocus }} />
  );
}

/**
 * Moves the focus to the message field. Not on a phone, because the keyboard would open and hide
 * half of the page.
 */
function focusComposer(): void {
  if (window.matchMedia('(pointer: coarse)').matches) return;
  document.querySelector<HTMLElement>('.composer textarea')?.focus();
}

interface ApprovalRequestProps {
  readonly source: ChatSource;
  readonly handle: TaskHandle | undefined;
  readonly asked: AskedApproval;
  readonly more: number;
  /**
   * True if the removed card had the focus. The focus then moves to the next card, or to the
   * message field.
   */
  readonly hadFocus: RefObject<boolean>;
}

function ApprovalRequest({ source, handle, asked, more, hadFocus }: ApprovalRequestProps) {
  const read = useCallback((from: ChatSource) => findCall(from.state, asked), [asked]);
  const part = usePart(source, useSourceValue(source, read));
  // The object stays the same while the question stays, because the card keeps state for it.
  const outside = useMemo(() => callOutside(asked), [asked]);
  const call = part?.kind === 'tool_call' ? part : outside;
  const card = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const element = card.current;
    // If the user works with a text field or a button, that element keeps the focus.
    if (hadFocus.current || !hasFocusedElement()) focusDefault(element);
    hadFocus.current = false;
    return () => {
      if (element?.contains(document.activeElement)) hadFocus.current = true;
    };
  }, [hadFocus]);
  return <ApprovalCard {...{ asked, call, more, handle, card }} />;
}

function hasFocusedElement(): boolean {
  return document.activeElement !== null && document.activeElement !== document.body;
}

/** Focuses the answer that denies. If no answer is possible, focuses the card. */
function focusDefault(card: HTMLElement | null): void {
  const first = card?.querySelector<HTMLElement>('[data-default-focus]:not(:disabled)');
  (first ?? card)?.focus({ preventScroll: true });
}

/**
 * Returns the call if it is not in this log. This is a sub-agent's call, or a placeholder for a
 * call that the log no longer contains, for example after a redaction.
 */
function callOutside({ toolCallId, name, from }: AskedApproval): ToolCallPart {
  if (from === undefined) return { kind: 'tool_call', toolCallId, name, arguments: '' };
  return toolCallPart(toolCallId, name, from.input);
}

interface ApprovalCardProps {
  readonly asked: AskedApproval;
  readonly call: ToolCallPart;
  /** The number of further requests after this one. */
  readonly more: number;
  readonly handle: TaskHandle | undefined;
  /** The element of the card, for callers that move the focus. */
  readonly card: RefObject<HTMLElement | null>;
}

type Mode = 'choose' | 'session' | 'change' | 'deny';

/**
 * Asks whether a call may run unchanged, with another input, or not at all. The user can allow a
 * call only after it was shown in full.
 */
function ApprovalCard({ asked, call, more, handle, card }: ApprovalCardProps) {
  const [mode, setMode] = useState<Mode>('choose');
  /**
   * Text that the user entered and did not send. It is kept in case the user returns to the form.
   */
  const [changed, setChanged] = useState<string>();
  const [error, setError] = useState<string>();
  const [isSent, setSent] = useState(false);
  /** The input whose end the user has seen. */
  const [readKey, setReadKey] = useState<string>();
  const facts = useMemo(() => inputFacts(call), [call]);
  const isRead = readKey === facts.key;
  const titleId = useId();
  const { toolCallId, name, reason, rule } = asked;
  // If a focused button disappears or is disabled, the focus would be lost. So the focus moves to
  // the card.
  const keepFocus = () => {
    if (card.current?.contains(document.activeElement)) card.current.focus();
  };
  const answer = (send: (to: TaskHandle) => Promise<unknown>) => {
    if (handle === undefined || isSent) return;
    keepFocus();
    setSent(true);
    send(handle).then(
      () => setError(undefined),
      (failure: unknown) => {
        setSent(false);
        setError(failure instanceof Error ? failure.message : String(failure));
      },
    );
  };
  const open = (next: Mode) => {
    keepFocus();
    setError(undefined);
    setMode(next);
  };
  const back = () => open('choose');
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (isHeldEnter(event)) return event.preventDefault();
    const isHandled =
      event.key === 'Escape' ? mode !== 'choose' : isOnButton(event) && scrollCard(event);
    if (!isHandled) return;
    event.preventDefault();
    if (event.key === 'Escape') back();
  };
  const isDisabled = handle === undefined || isSent;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change replaces or enables buttons
  useLayoutEffect(() => {
    if (document.activeElement === card.current) focusDefault(card.current);
  }, [card, mode, isDisabled]);
  return (
    <section
      {...{ ref: card, className: 'approval', tabIndex: -1, onKeyDown }}
      aria-labelledby={titleId}
    >
      <header>
        <ShieldIcon />
        <h2 id={titleId}>
          Allow{' '}
          <code>
            <VisibleText text={name} />
          </code>
          ?
        </h2>
        {asked.from !== undefined && (
          <span className="approval-more">
            asked by <VisibleText text={asked.from.agents.join(' › ')} />
          </span>
        )}
        {more > 0 && <span className="approval-more">{more} more after this</span>}
      </header>
      {(mode === 'choose' || mode === 'deny') && (
        <ReadArea
          label="Input of the call"
          contentKey={facts.key}
          onEnd={setReadKey}
          hint={facts.refusal === undefined ? readHint(isRead, 'input') : undefined}
        >
          <RequestedInput {...{ call, facts, reason }} />
        </ReadArea>
      )}
      {mode === 'choose' && (
        <AnswerButtons
          {...{ rule, isDisabled, isRead }}
          canAllow={facts.refusal === undefined}
          // A guardrail asks about a message, which the answer cannot change.
          canChange={asked.from?.itemId === undefined ? facts.isWhole : undefined}
          onAllow={() => answer((to) => to.approve(toolCallId))}
          onAllowSession={() => open('session')}
          onChange={() => open('change')}
          onDeny={() => open('deny')}
        />
      )}
      {mode === 'session' && rule !== undefined && (
        <SessionForm
          {...{ rule, isDisabled, onBack: back }}
          onAllow={() => answer((to) => to.approve(toolCallId, { until: 'session' }))}
        />
      )}
      {mode === 'change' && (
        <ChangeForm
          {...{
            call,
            isDisabled,
            text: changed,
            onText: setChanged,
            onError: setError,
            onBack: back,
          }}
          onInput={(input) => answer((to) => to.approve(toolCallId, { input }))}
        />
      )}
      {mode === 'deny' && (
        <DenyForm
          isDisabled={isDisabled}
          onBack={back}
          onDeny={(why) => answer((to) => to.deny(toolCallId, why === '' ? {} : { reason: why }))}
        />
      )}
      {handle === undefined && (
        <p className="approval-reason">This is an earlier moment. Go back to now to answer.</p>
      )}
      {error !== undefined && (
        <p className="composer-error" role="alert">
          {error}
        </p>
      )}
    </section>
  );
}

/**
 * Returns true for Enter that is held down, because it must not answer the next card. In the text
 * of a changed input, a held Enter adds lines.
 */
function isHeldEnter({ key, repeat, target }: KeyboardEvent): boolean {
  return key === 'Enter' && repeat && (target as Element).tagName !== 'TEXTAREA';
}

/**
 * Returns true if a button or the card has the focus. Text fields and the scroll area use the keys
 * themselves.
 */
function isOnButton({ target, currentTarget }: KeyboardEvent): boolean {
  return target === currentTarget || (target as Element).tagName === 'BUTTON';
}

function scrollCard({ key, currentTarget, altKey, ctrlKey, metaKey }: KeyboardEvent): boolean {
  return !altKey && !ctrlKey && !metaKey && scrollByKey(currentTarget, key);
}
