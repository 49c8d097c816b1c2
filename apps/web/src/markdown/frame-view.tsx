import { useEffect, useRef, useState } from 'react';
import { withBase } from '../server/base-path.ts';
import { useKeyboardGuard } from './keyboard-guard.ts';

/** What a frame shows: a document in HTML, or a diagram in the language of Mermaid. */
export type FrameKind = 'document' | 'diagram';

interface FrameViewProps {
  readonly kind: FrameKind;
  readonly text: string;
  /** Called if the text is not a valid diagram, or if the frame cannot load. */
  readonly onFailed: () => void;
}

/** The limits of the height that a frame can choose, in pixels. */
const minHeight = 40;
const maxHeight = 720;
const documentHeight = 420;

/**
 * Shows untrusted content in a frame. The sandbox gives the frame an origin of its own, so that its
 * scripts cannot read the page. The policy that the server sends with the frame allows no network.
 */
export function FrameView({ kind, text, onFailed }: FrameViewProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(() => startHeight(kind, text));
  const { isInUse, use } = useKeyboardGuard(frame, kind === 'document', onFailed);
  useEffect(() => {
    const receive = ({ source, data }: MessageEvent<unknown>) => {
      const content = frame.current?.contentWindow;
      if (content === undefined || content === null || source !== content) return;
      const report = reportOf(data);
      // The frame has an origin that no target can name.
      if (report.frame === 'ready') content.postMessage({ text, isDark: isDark() }, '*');
      if (report.frame === 'failed') onFailed();
      if (report.frame === 'drawn') setHeight(keptHeight(text, report.height));
    };
    window.addEventListener('message', receive);
    return () => window.removeEventListener('message', receive);
  }, [text, onFailed]);
  return (
    <div className="preview-place">
      <iframe
        ref={frame}
        className="preview-frame"
        title={kind === 'document' ? 'Preview of the document' : 'Diagram'}
        src={withBase(`/frames/${kind}.html`)}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        height={height}
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

/**
 * The heights of diagrams that were drawn. The transcript removes what is out of view, so a diagram is
 * drawn again when the user scrolls back. It then has its height from the start, and nothing jumps.
 */
const heights = new Map<string, number>();
const maxHeights = 200;

function startHeight(kind: FrameKind, text: string): number {
  return kind === 'document' ? documentHeight : (heights.get(text) ?? minHeight);
}

function keptHeight(text: string, height: number): number {
  const kept = Math.min(maxHeight, Math.max(minHeight, height));
  const [oldest] = heights.keys();
  if (heights.size >= maxHeights && oldest !== undefined) heights.delete(oldest);
  heights.set(text, kept);
  return kept;
}

interface FrameReport {
  readonly frame: 'ready' | 'drawn' | 'failed' | 'unknown';
  readonly height: number;
}

/** Reads a message of a frame. The frame is untrusted, so every field is checked. */
function reportOf(data: unknown): FrameReport {
  const { frame, height } = (data ?? {}) as { readonly frame?: unknown; readonly height?: unknown };
  const isKnown = frame === 'ready' || frame === 'drawn' || frame === 'failed';
  return {
    frame: isKnown ? frame : 'unknown',
    height: Number.isFinite(height) ? Number(height) : 0,
  };
}

function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === undefined
    ? matchMedia('(prefers-color-scheme: dark)').matches
    : theme === 'dark';
}
