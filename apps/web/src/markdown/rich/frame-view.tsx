import { useEffect, useRef } from 'react';
import { withBase } from '../../server/base-path.ts';
import { useKeyboardGuard } from './keyboard-guard.ts';

/** What a frame shows: a document in HTML, a diagram in the language of Mermaid, or a remote picture. */
export type FrameKind = 'document' | 'diagram' | 'picture';

interface FrameViewProps {
  readonly kind: FrameKind;
  /** The source of the document or the diagram, or the address of the picture. */
  readonly text: string;
  /** The name of the frame for screen readers. Default: what the frame shows. */
  readonly title?: string | undefined;
  /** Called if the text is not a valid diagram, or if the frame cannot load. */
  readonly onFailed: () => void;
}

/** The heights of frames, in pixels. */
const documentHeight = 420;
const pictureHeight = 254;

const titles = { document: 'Preview of the document', diagram: 'Diagram', picture: 'Picture' };

/**
 * Shows untrusted content in a frame. The sandbox gives the frame an origin of its own, so that its
 * scripts cannot read the page. The policy that the server sends with the frame allows no network.
 */
export function FrameView({ kind, text, title = titles[kind], onFailed }: FrameViewProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const { isInUse, use } = useKeyboardGuard(frame, kind === 'document', onFailed);
  useEffect(() => {
    const receive = ({ source, data }: MessageEvent<unknown>) => {
      const content = frame.current?.contentWindow;
      if (content === undefined || content === null || source !== content) return;
      const report = reportOf(data);
      // The frame has an origin that no target can name.
      if (report === 'ready') content.postMessage({ kind, text, isDark: isDark() }, '*');
      if (report === 'failed') onFailed();
    };
    window.addEventListener('message', receive);
    return () => window.removeEventListener('message', receive);
  }, [kind, text, onFailed]);
  return (
    <div className="preview-place">
      <iframe
        ref={frame}
        className="preview-frame"
        title={title}
        data-kind={kind}
        src={withBase(`/frames/${kind}.html`)}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        height={heightOf(kind, text)}
        tabIndex={isInUse ? 0 : -1}
      />
      {!isInUse && (
        <button type="button" className="preview-shield" onClick={use}>
          <span>Press to use the preview</span>
        </button>
      )}
    </div>
  );
}

/** The heights of a diagram in pixels: at least, at most, and for each line of its source. */
const diagramHeights = { least: 140, most: 520, perLine: 34 };

/**
 * Returns the height of a frame before its content is drawn. The frame keeps it, and a diagram is
 * scaled to fit, because text below it would move otherwise. A diagram that goes from left to right
 * is low.
 */
function heightOf(kind: FrameKind, text: string): number {
  if (kind === 'picture') return pictureHeight;
  if (kind === 'document') return documentHeight;
  const { least, most, perLine } = diagramHeights;
  const lines = text.split('\n', 64).filter((line) => line.trim() !== '').length;
  const isWide = /^\s*(?:flowchart|graph)\s+(?:LR|RL)\b/.test(text);
  return Math.min(most, Math.max(least, 60 + lines * (isWide ? perLine / 2 : perLine)));
}

/** Reads a message of a frame. The frame is untrusted, so the content of the message is checked. */
function reportOf(data: unknown): 'ready' | 'failed' | undefined {
  const { frame } = (data ?? {}) as { readonly frame?: unknown };
  return frame === 'ready' || frame === 'failed' ? frame : undefined;
}

function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === undefined
    ? matchMedia('(prefers-color-scheme: dark)').matches
    : theme === 'dark';
}
