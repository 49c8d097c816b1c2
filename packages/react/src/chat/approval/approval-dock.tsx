import {
  type AskedApproval,
  disguisesInCall,
  type ToolCallPart,
  toolCallPart,
} from '@millrace/core';
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
import { Filled, useLabels } from '../../labels/use-labels.ts';
import type { AnswerTarget } from '../../session/session.ts';
import { VisibleText } from '../content/visible-text.tsx';
import { QuestionCard } from '../question/question-card.tsx';
import { type ChatSource, findCall, usePart, useSourceValue } from '../state/chat-source.ts';
import { useLaneAnswers } from '../sub-agent/lane-context.ts';
import { AnswerButtons, ChangeForm, DenyForm, SessionForm } from './answer-forms.tsx';
import { ReadArea, scrollByKey } from './read-area.tsx';
import { inputFacts, RequestedInput } from './requested-input.tsx';
import './approval-dock.css';

const selectAsked = ({ state }: ChatSource) => state.asked;

/** The properties of `Approvals`. */
export interface ApprovalDockProps {
  readonly source: ChatSource;
  /** Receives the answers. Undefined while the inspector shows an earlier moment. */
  readonly handle: AnswerTarget | undefined;
  /**
   * The session of the sub-agent whose questions are shown. Default: all questions that no lane of a
   * sub-agent shows.
   */
  readonly session?: string | undefined;
  /** The text that explains why no answer is possible. Default: the text for an earlier moment. */
  readonly closedText?: string | undefined;
}

/** Shows the calls that wait for an approval, one after the other. */
export function ApprovalDock({ source, handle, session, closedText }: ApprovalDockProps) {
  const t = useLabels();
  const all = useSourceValue(source, selectAsked);
  const inLanes = useLaneAnswers();
  const asked = all.filter(({ from }) =>
    session === undefined ? !inLanes.has(from?.session ?? '') : from?.session === session,
  );
  const [first] = asked;
  const hadFocus = useRef<FocusRoot>(undefined);
  useLayoutEffect(() => {
    if (first === undefined && hadFocus.current) focusComposer(hadFocus.current);
    hadFocus.current = undefined;
  }, [first]);
  if (first === undefined) return null;
  const more = asked.length - 1;
  const form = first.from?.form;
  // A provider can use the id of a call again in a later turn.
  const key = [first.turn, first.attempt, first.from?.session, first.toolCallId].join(' ');
  if (form !== undefined)
    return <QuestionCard key={key} {...{ asked: first, form, more, handle }} />;
  return (
    <ApprovalRequest
      key={key}
      {...{
        source,
        handle,
        asked: first,
        more,
        hadFocus,
        closedText: closedText ?? t.earlierMomentAnswer,
      }}
    />
  );
}

/**
 * Moves the focus to the message field, except on a phone. There, the on-screen keyboard would open
 * and hide half of the page.
 */
function focusComposer(root: ParentNode): void {
  if (window.matchMedia('(pointer: coarse)').matches) return;
  root.querySelector<HTMLElement>('.composer textarea')?.focus();
}

interface ApprovalRequestProps {
  readonly source: ChatSource;
  readonly handle: AnswerTarget | undefined;
  readonly asked: AskedApproval;
  readonly more: number;
  /**
   * The document or the shadow root of the removed card, if the card had the focus. The focus then moves
   * to the next card, or to the message field.
   */
  readonly hadFocus: RefObject<FocusRoot>;
  readonly closedText: string;
}

function ApprovalRequest(props: ApprovalRequestProps) {
  const { source, handle, asked, more, hadFocus, closedText } = props;
  const read = useCallback((from: ChatSource) => findCall(from.state, asked), [asked]);
  const part = usePart(source, useSourceValue(source, read));
  // The card keeps state for this object, so it must stay the same object while the question is
  // open.
  const outside = useMemo(() => callOutside(asked), [asked]);
  const call = part?.kind === 'tool_call' ? part : outside;
  const card = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const element = card.current;
    // If the user works with a text field or a button, that element keeps the focus.
    if (hadFocus.current || !hasFocusedElement(element)) focusDefault(element);
    hadFocus.current = undefined;
    return () => {
      if (element?.contains(focusedNear(element))) hadFocus.current = rootOf(element);
    };
  }, [hadFocus]);
  return <ApprovalCard {...{ asked, call, more, handle, card, closedText }} />;
}

type FocusRoot = Document | ShadowRoot | undefined;

/** Returns the document of an element, or the shadow root in which it is. */
function rootOf(element: Element): Document | ShadowRoot {
  return element.getRootNode() as Document | ShadowRoot;
}

/** Returns the focused element of the same document or shadow root. */
function focusedNear(element: Element | null): Element | null {
  return element === null ? null : rootOf(element).activeElement;
}

function hasFocusedElement(card: Element | null): boolean {
  const focused = focusedNear(card);
  return focused !== null && focused !== document.body;
}

/** Focuses the button that denies. If that button is disabled or missing, focuses the card. */
function focusDefault(card: HTMLElement | null): void {
  const first = card?.querySelector<HTMLElement>('[data-default-focus]:not(:disabled)');
  (first ?? card)?.focus({ preventScroll: true });
}

/**
 * Returns a call that this log does not contain: the call of a sub-agent, or a placeholder. A
 * placeholder is used if the call was removed from the log, for example by a redaction.
 */
function callOutside({ toolCallId, name, from }: AskedApproval): ToolCallPart {
  if (from === undefined) return { kind: 'tool_call', toolCallId, name, arguments: '' };
  return toolCallPart(toolCallId, name, from.input);
}

interface ApprovalCardProps {
  readonly asked: AskedApproval;
  readonly call: ToolCallPart;
  /** The number of approval requests that follow this one. */
  readonly more: number;
  readonly handle: AnswerTarget | undefined;
  /** The element of the card, for callers that move the focus. */
  readonly card: RefObject<HTMLElement | null>;
  readonly closedText: string;
}

type Mode = 'choose' | 'session' | 'change' | 'deny';

/**
 * Asks the user about a call: run it unchanged, run it with a changed input, or deny it. The user
 * can allow a call only after the page has shown the whole input.
 */
function ApprovalCard({ asked, call, more, handle, card, closedText }: ApprovalCardProps) {
  const t = useLabels();
  const [mode, setMode] = useState<Mode>('choose');
  /** Text that the user entered but did not send. The form shows it again when the user returns. */
  const [changed, setChanged] = useState<string>();
  const [error, setError] = useState<string>();
  const [isSent, setSent] = useState(false);
  /** The key of the input that the user has scrolled to its end. */
  const [readKey, setReadKey] = useState<string>();
  const facts = useMemo(() => inputFacts(call, t), [call, t]);
  const isRead = readKey === facts.key;
  const titleId = useId();
  const { toolCallId, name, reason, rule } = asked;
  // If a focused button disappears or is disabled, the browser drops the focus. So the focus moves
  // to the card.
  const keepFocus = () => {
    if (card.current?.contains(focusedNear(card.current))) card.current.focus();
  };
  const answer = (send: (to: AnswerTarget) => Promise<unknown>) => {
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
  // A guardrail asks about a message, which the answer cannot change.
  const canChange = asked.from?.itemId === undefined && handle?.canChangeInput !== false;
  const isDisabled = handle === undefined || isSent;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change replaces or enables buttons
  useLayoutEffect(() => {
    if (focusedNear(card.current) === card.current) focusDefault(card.current);
  }, [card, mode, isDisabled]);
  return (
    <section
      {...{ ref: card, className: 'approval', tabIndex: -1, onKeyDown }}
      aria-labelledby={titleId}
    >
      <header>
        <ShieldIcon />
        <h2 id={titleId}>
          <Filled
            text={t.allowQuestion}
            parts={[
              <code key="name">
                <VisibleText text={name} escapes={disguisesInCall} />
              </code>,
            ]}
          />
        </h2>
        {asked.from !== undefined && (
          <span className="approval-more">
            {t.askedBy} <VisibleText text={asked.from.agents.join(' › ')} />
          </span>
        )}
        {more > 0 && <span className="approval-more">{t.moreAfterThis(more)}</span>}
      </header>
      {(mode === 'choose' || mode === 'deny') && (
        <ReadArea
          label={t.inputOfTheCall}
          contentKey={facts.key}
          onEnd={setReadKey}
          hint={facts.refusal === undefined ? (isRead ? t.inputRead : t.scrollToAllow) : undefined}
        >
          <RequestedInput {...{ call, facts, reason }} />
        </ReadArea>
      )}
      {mode === 'choose' && (
        <AnswerButtons
          {...{ rule, isDisabled, isRead }}
          inputKey={facts.key}
          canAllow={facts.refusal === undefined}
          canChange={canChange ? facts.isWhole : undefined}
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
      {handle === undefined && <p className="approval-reason">{closedText}</p>}
      {error !== undefined && (
        <p className="composer-error" role="alert">
          {error}
        </p>
      )}
    </section>
  );
}

/**
 * Returns true if the user holds Enter down. A held Enter must not answer the next card. In the
 * text field for the changed input, it adds lines.
 */
function isHeldEnter({ key, repeat, target }: KeyboardEvent): boolean {
  return key === 'Enter' && repeat && (target as Element).tagName !== 'TEXTAREA';
}

/**
 * Returns true if a button or the card has the focus. Text fields and the scroll area handle keys
 * themselves.
 */
function isOnButton({ target, currentTarget }: KeyboardEvent): boolean {
  return target === currentTarget || (target as Element).tagName === 'BUTTON';
}

function scrollCard({ key, currentTarget, altKey, ctrlKey, metaKey }: KeyboardEvent): boolean {
  return !altKey && !ctrlKey && !metaKey && scrollByKey(currentTarget, key);
}
