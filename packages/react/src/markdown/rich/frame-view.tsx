import { useLayoutEffect, useRef } from 'react';
import { useMillrace } from '../../context.ts';
import { useLabels } from '../../labels/use-labels.ts';
import { useFrameSlot } from './frame-slots.ts';
import { useKeyboardGuard } from './keyboard-guard.ts';

/**
 * The content of a frame: an HTML document, a React component, a Mermaid diagram, or a picture
 * from a different server.
 */
export type FrameKind = 'document' | 'react' | 'diagram' | 'picture';

interface FrameViewProps {
  readonly kind: FrameKind;
  /** The source of the document or the diagram, or the address of the picture. */
  readonly text: string;
  /** The name of the frame for screen readers. Default: a name for its kind. */
  readonly title?: string | undefined;
  /** Called if the text is not a valid diagram, or if the frame cannot load. */
  readonly onFailed: () => void;
}

/** The fixed heights of frames, in pixels. */
const documentHeight = 420;
const pictureHeight = 254;

/** The labels that name a frame without a title. */
const titles = {
  document: 'previewOfDocument',
  react: 'previewOfComponent',
  diagram: 'diagram',
  picture: 'picture',
} as const;

/**
 * Shows untrusted content in a frame. The sandbox gives the frame a separate origin, so its scripts
 * cannot read the page. The server sends the frame with a content security policy that allows no
 * network access. The frame exists only while it is in sight.
 */
export function FrameView(props: FrameViewProps) {
  const { kind, text } = props;
  const place = useRef<HTMLDivElement>(null);
  // A document of a model can contain input of the user, so it stays until the user closes it.
  const isShown = useFrameSlot(place, !runsCode(kind));
  return (
    <div ref={place} className="preview-place" style={{ minHeight: heightOf(kind, text) }}>
      {isShown && <SandboxedFrame {...props} />}
    </div>
  );
}

function SandboxedFrame({ kind, text, title, onFailed }: FrameViewProps) {
  const t = useLabels();
  const { framesUrl = '' } = useMillrace();
  const frame = useRef<HTMLIFrameElement>(null);
  const { isInUse, use } = useKeyboardGuard(frame, runsCode(kind), onFailed);
  // A layout effect runs before the frame can load. A later effect could miss its first message.
  useLayoutEffect(() => {
    const receive = ({ source, data }: MessageEvent<unknown>) => {
      const content = frame.current?.contentWindow;
      if (content === undefined || content === null || source !== content) return;
      const report = reportOf(data);
      // The origin of a sandboxed frame has no name, so the target must be `*`.
      if (report === 'ready') content.postMessage({ kind, text, isDark: isDark() }, '*');
      if (report === 'failed') onFailed();
    };
    window.addEventListener('message', receive);
    return () => window.removeEventListener('message', receive);
  }, [kind, text, onFailed]);
  return (
    <>
      <iframe
        ref={frame}
        className="preview-frame"
        title={title ?? t[titles[kind]]}
        data-kind={kind}
        src={`${framesUrl}${kind}.html`}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        height={heightOf(kind, text)}
        tabIndex={isInUse ? 0 : -1}
      />
      {!isInUse && (
        <button type="button" className="preview-shield" onClick={use}>
          <span>{t.pressToUsePreview}</span>
        </button>
      )}
    </>
  );
}

/** Returns whether the frame runs code of a model. */
function runsCode(kind: FrameKind): boolean {
  return kind === 'document' || kind === 'react';
}

/**
 * The heights of a diagram in pixels: minimum, maximum, and the height for each line of its source.
 */
const diagramHeights = { least: 140, most: 520, perLine: 34 };

/**
 * Returns the height of a frame. The height does not change when the content is drawn, because text
 * below the frame would move. Instead, a diagram is scaled to fit. A diagram from left to right
 * needs less height.
 */
function heightOf(kind: FrameKind, text: string): number {
  if (kind === 'picture') return pictureHeight;
  if (runsCode(kind)) return documentHeight;
  const { least, most, perLine } = diagramHeights;
  const lines = text.split('\n', 64).filter((line) => line.trim() !== '').length;
  const isWide = /^\s*(?:flowchart|graph)\s+(?:LR|RL)\b/.test(text);
  return Math.min(most, Math.max(least, 60 + lines * (isWide ? perLine / 2 : perLine)));
}

/** Reads a message from a frame. The frame is untrusted, so this function checks the message. */
function reportOf(data: unknown): 'ready' | 'failed' | undefined {
  const { frame } = (data ?? {}) as { readonly frame?: unknown };
  return frame === 'ready' || frame === 'failed' ? frame : undefined;
}

/** Returns whether the page is dark. */
export function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === undefined
    ? matchMedia('(prefers-color-scheme: dark)').matches
    : theme === 'dark';
}
