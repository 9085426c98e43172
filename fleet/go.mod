// SPDX-License-Identifier: Apache-2.0
module lopsided/fleet

go 1.26.0
