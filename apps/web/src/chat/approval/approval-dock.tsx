import type { TaskHandle } from '@millrace/client';
import type { AskedApproval, ToolCallPart } from '@millrace/core';
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { ShieldIcon } from '../../design/icons.tsx';
import { VisibleText } from '../content/visible-text.tsx';
import { type ChatSource, findCall, usePart, useSourceValue } from '../state/chat-source.ts';
import { InputView } from '../tool/input-view.tsx';
import { AnswerButtons, ChangeForm, DenyForm } from './answer-forms.tsx';
import './approval-dock.css';
import { Button } from '../../design/button.tsx';

const selectAsked = ({ state }: ChatSource) => state.asked;

/** The calls that wait for somebody's word, one after the other. */
export function ApprovalDock({
  source,
  handle,
}: {
  readonly source: ChatSource;
  /** Undefined where one looks at the past. */
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

/** A phone would bring up its keyboard for it, and hide half of what one wants to see. */
function focusComposer(): void {
  if (window.matchMedia('(pointer: coarse)').matches) return;
  document.querySelector<HTMLElement>('.composer textarea')?.focus();
}

interface ApprovalRequestProps {
  readonly source: ChatSource;
  readonly handle: TaskHandle | undefined;
  readonly asked: AskedApproval;
  readonly more: number;
  /** A card that had the focus went, and somebody has to take it. */
  readonly hadFocus: RefObject<boolean>;
}

function ApprovalRequest({ source, handle, asked, more, hadFocus }: ApprovalRequestProps) {
  const { toolCallId } = asked;
  const read = useCallback((from: ChatSource) => findCall(from.state, toolCallId), [toolCallId]);
  const part = usePart(source, useSourceValue(source, read));
  const call = part?.kind === 'tool_call' ? part : unknownCall(asked);
  const card = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const element = card.current;
    if (hadFocus.current) element?.focus();
    hadFocus.current = false;
    return () => {
      if (element?.contains(document.activeElement)) hadFocus.current = true;
    };
  }, [hadFocus]);
  return <ApprovalCard {...{ asked, call, more, handle, card }} />;
}

/** Its words are not there, as in a log that was redacted. */
function unknownCall({ toolCallId, name }: AskedApproval): ToolCallPart {
  return { kind: 'tool_call', toolCallId, name, arguments: '' };
}

export interface ApprovalCardProps {
  readonly asked: AskedApproval;
  readonly call: ToolCallPart;
  /** How many others wait behind it. */
  readonly more: number;
  readonly handle: TaskHandle | undefined;
  /** Where it is, for whoever gives it the focus. */
  readonly card: RefObject<HTMLElement | null>;
}

type Mode = 'choose' | 'change' | 'deny';

/** May it run? As it is, with another input, or not. */
export function ApprovalCard({ asked, call, more, handle, card }: ApprovalCardProps) {
  const [mode, setMode] = useState<Mode>('choose');
  /** What was written and not sent, for whoever comes back to it. */
  const [changed, setChanged] = useState<string>();
  const [error, setError] = useState<string>();
  const [isSent, setSent] = useState(false);
  const titleId = useId();
  const { toolCallId, name, reason, rule } = asked;
  // A button that has the focus and is gone, or off, would leave it to nobody.
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
  const back = () => {
    keepFocus();
    setError(undefined);
    setMode('choose');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || mode === 'choose' || event.nativeEvent.isComposing) return;
    event.preventDefault();
    back();
  };
  const isDisabled = handle === undefined || isSent;
  return (
    <section
      {...{ ref: card, className: 'approval', tabIndex: -1, onKeyDown }}
      aria-labelledby={titleId}
    >
      <header>
        <ShieldIcon />
        <h3 id={titleId}>
          Allow{' '}
          <code>
            <VisibleText text={name} />
          </code>
          ?
        </h3>
        {more > 0 && <span className="approval-more">{more} more after this</span>}
      </header>
      {mode !== 'change' && (
        <ScrollBody>
          {reason !== undefined && (
            <p className="approval-reason">
              <VisibleText text={reason} />
            </p>
          )}
          <RequestedInput call={call} />
        </ScrollBody>
      )}
      {mode === 'choose' && (
        <AnswerButtons
          {...{ rule, isDisabled }}
          onAllow={() => answer((to) => to.approve(toolCallId))}
          onAllowSession={() => answer((to) => to.approve(toolCallId, { until: 'session' }))}
          onChange={() => setMode('change')}
          onDeny={() => setMode('deny')}
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

/** All that it would run with, also where that is nothing. */
function RequestedInput({
  call: { name, input, arguments: text },
}: Pick<ApprovalCardProps, 'call'>) {
  const hasNoInput = input === undefined && text === '';
  return (
    <div className="approval-input">
      {hasNoInput ? (
        <p className="input-note">What it would run with is not there to be shown.</p>
      ) : (
        <InputView name={name} input={input} text={text} />
      )}
    </div>
  );
}

/** Scrolls where it is too long for its place, and says so: nothing is below unnoticed. */
export function ScrollBody({ children }: { readonly children: ReactNode }) {
  const body = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [hasMore, setHasMore] = useState(false);
  useEffect(() => {
    const [box, inner] = [body.current, content.current];
    if (box === null || inner === null) return;
    const updateHasMore = () => setHasMore(box.scrollHeight - box.clientHeight - box.scrollTop > 4);
    const observer = new window.ResizeObserver(updateHasMore);
    for (const element of [box, inner]) observer.observe(element);
    box.addEventListener('scroll', updateHasMore);
    return () => {
      observer.disconnect();
      box.removeEventListener('scroll', updateHasMore);
    };
  }, []);
  const down = () => body.current?.scrollBy({ top: body.current.clientHeight * 0.8 });
  return (
    <div className="approval-body">
      <div className="approval-scroll" ref={body} tabIndex={hasMore ? 0 : undefined}>
        <div className="approval-content" ref={content}>
          {children}
        </div>
      </div>
      {hasMore && (
        <Button size="small" onClick={down}>
          More below
        </Button>
      )}
    </div>
  );
}
