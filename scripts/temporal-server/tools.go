//go:build tools

// The server that tests of @millrace/temporal start. `npm run test:setup` builds it, at these versions.
package tools

import _ "github.com/temporalio/cli/cmd/temporal"
