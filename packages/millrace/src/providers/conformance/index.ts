export * from '@millrace/providers/conformance';
