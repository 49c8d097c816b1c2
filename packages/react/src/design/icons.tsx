import type { ReactNode } from 'react';

/**
 * Creates an icon in the common style: a grid of 16 × 16 units, lines 1.5 units wide with round
 * ends, and a margin of two units. The lines have the color of the text. Screen readers skip the
 * icon, because there is a text or a label next to it.
 */
export function icon(content: ReactNode) {
  return function Icon() {
    return (
      <svg
        width="16"
        height="16"
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        focusable="false"
      >
        {content}
      </svg>
    );
  };
}

/** The icon `plus`. */
export const PlusIcon = icon(<path d="M8 3v10M3 8h10" />);
/** The icon `send`. */
export const SendIcon = icon(<path d="M8 13V3.5M3.5 7.5 8 3l4.5 4.5" />);
/** The icon `stop`. */
export const StopIcon = icon(<rect x="4" y="4" width="8" height="8" rx="1" fill="currentColor" />);
/** The icon `copy`. */
export const CopyIcon = icon(
  <>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M3.5 10.5A1 1 0 0 1 2.5 9.5v-6a1 1 0 0 1 1-1h6a1 1 0 0 1 1 1" />
  </>,
);
/** The icon `check`. */
export const CheckIcon = icon(<path d="m3 8.5 3.2 3.2L13 5" />);
/** The icon `ring`. */
export const RingIcon = icon(<circle cx="8" cy="8" r="4.5" />);
/** The icon `cross`. */
export const CrossIcon = icon(<path d="m4 4 8 8M12 4l-8 8" />);
/** The icon `chevron`. */
export const ChevronIcon = icon(<path d="m6 4 4 4-4 4" />);
/** The icon `left`. */
export const LeftIcon = icon(<path d="m10 4-4 4 4 4" />);
/** The icon `down`. */
export const DownIcon = icon(<path d="M8 3v10M3.5 8.5 8 13l4.5-4.5" />);
/** The icon `menu`. */
export const MenuIcon = icon(<path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />);
/** The icon `thought`. */
export const ThoughtIcon = icon(
  <path d="M8 2.5v2M8 11.5v2M2.5 8h2M11.5 8h2M4.1 4.1l1.4 1.4M10.5 10.5l1.4 1.4M11.9 4.1l-1.4 1.4M5.5 10.5l-1.4 1.4" />,
);
/** The icon `alert`. */
export const AlertIcon = icon(
  <>
    <path d="M8 2.5 14 13H2Z" />
    <path d="M8 6.5v3M8 11.3v.1" />
  </>,
);
/** The icon `shield`. */
export const ShieldIcon = icon(<path d="M8 2 13 4v4c0 3-2.2 5-5 6-2.8-1-5-3-5-6V4Z" />);
/** The icon `retry`. */
export const RetryIcon = icon(
  <>
    <path d="M13 8a5 5 0 1 1-1.5-3.6" />
    <path d="M13 2.5v2.7h-2.7" />
  </>,
);
/** The icon `edit`. */
export const EditIcon = icon(<path d="m10.5 3 2.5 2.5-7.3 7.3-3.2.7.7-3.2Z" />);
/** The icon `branch`. */
export const BranchIcon = icon(
  <>
    <circle cx="4.5" cy="3.8" r="1.5" />
    <circle cx="4.5" cy="12.2" r="1.5" />
    <circle cx="11.5" cy="5" r="1.5" />
    <path d="M4.5 5.3v5.4M11.5 6.5c0 2.5-3 2.5-5.5 3" />
  </>,
);
/** The icon `clock`. */
export const ClockIcon = icon(
  <>
    <circle cx="8" cy="8" r="5.5" />
    <path d="M8 5v3l2 1.5" />
  </>,
);
/** The icon `sun`. */
export const SunIcon = icon(
  <>
    <circle cx="8" cy="8" r="2.7" />
    <path d="M8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1" />
  </>,
);
/** The icon `moon`. */
export const MoonIcon = icon(<path d="M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5Z" />);
/** The icon `screen`. */
export const ScreenIcon = icon(
  <>
    <rect x="2" y="3" width="12" height="8" rx="1.5" />
    <path d="M6 13.5h4" />
  </>,
);
/** The icon `roomy`. */
export const RoomyIcon = icon(<path d="M2.5 3.5h11M2.5 12.5h11M2.5 8h11" />);
/** The icon `compact`. */
export const CompactIcon = icon(<path d="M2.5 4.25h11M2.5 6.75h11M2.5 9.25h11M2.5 11.75h11" />);
/** The icon `help`. */
export const HelpIcon = icon(
  <>
    <circle cx="8" cy="8" r="5.5" />
    <path d="M6.4 6.4a1.6 1.6 0 1 1 2.3 1.5c-.5.2-.7.5-.7 1M8 11v.1" />
  </>,
);
/** The icon `timeline`. */
export const TimelineIcon = icon(<path d="M2.5 4h5.5M5.5 8H11M8 12h5.5" />);
/** The icon `grid`. */
export const GridIcon = icon(
  <>
    <rect x="2.5" y="2.5" width="4.5" height="4.5" rx="1" />
    <rect x="9" y="2.5" width="4.5" height="4.5" rx="1" />
    <rect x="2.5" y="9" width="4.5" height="4.5" rx="1" />
    <rect x="9" y="9" width="4.5" height="4.5" rx="1" />
  </>,
);
/** The icon `dots`. */
export const DotsIcon = icon(
  <g fill="currentColor" stroke="none">
    <circle cx="3.5" cy="8" r="1.25" />
    <circle cx="8" cy="8" r="1.25" />
    <circle cx="12.5" cy="8" r="1.25" />
  </g>,
);
/** The icon `pin`. */
export const PinIcon = icon(<path d="M6 2.5h4l-.5 4 2.5 2.5H4l2.5-2.5ZM8 9v4.5" />);
/** The icon `folder`. */
export const FolderIcon = icon(<path d="M2 12.5v-9h4l1.5 2H14v7Z" />);
/** The icon `archive`. */
export const ArchiveIcon = icon(<path d="M2.5 3h11v3h-11ZM3.5 6v7h9V6M6.5 8.5h3" />);
/** The icon `trash`. */
export const TrashIcon = icon(<path d="M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.5 9h6l.5-9M7 7v4M9 7v4" />);
/** The icon `select`. */
export const SelectIcon = icon(
  <path d="M2.5 4.5 4 6l2.5-3M2.5 11 4 12.5 6.5 9.5M9 4.5h5M9 11h5" />,
);
/** The icon `share`. */
export const ShareIcon = icon(<path d="M8 10V2.5M5 5l3-3 3 3M3.5 8v5.5h9V8" />);
/** The icon `clip`. */
export const ClipIcon = icon(
  <path d="m13 7.5-5.2 5.2a3 3 0 0 1-4.3-4.3l5.4-5.3a2 2 0 0 1 2.9 2.8l-5.3 5.3a1 1 0 0 1-1.5-1.4l4.8-4.8" />,
);
/** The icon `file`. */
export const FileIcon = icon(
  <>
    <path d="M4 2.5h5l3 3v8H4Z" />
    <path d="M9 2.5v3h3" />
  </>,
);
/** The icon `lane`. */
export const LaneIcon = icon(<path d="M3 2.5v6a3 3 0 0 0 3 3h7M10 8.5l3 3-3 3" />);
/** The icon `artifact`. */
export const ArtifactIcon = icon(
  <path d="M2.5 3h11v10h-11ZM2.5 6h11M6 8.5 4.5 10 6 11.5M10 8.5l1.5 1.5L10 11.5" />,
);
/** The icon `settings`. */
export const SettingsIcon = icon(
  <path d="M2.5 4.5h5M11.5 4.5h2M2.5 11.5h2M8.5 11.5h5M9.5 2.5v4M6.5 9.5v4" />,
);
/** The icon `handoff`. */
export const HandoffIcon = icon(<path d="M2.5 5.5h10M9.5 2.5l3 3-3 3M13.5 11h-8" />);

/** The logo: water that falls down steps. The lowest step has the accent color. */
export function Logo({ size = 22 }: { readonly size?: number }) {
  return (
    <svg className="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <path d="M3 7.5h9.5v8.5h8" />
      <path d="M20.5 16v8.5H29" />
    </svg>
  );
}
