// Functions of every shape that compilers make for aarch64, for test_cfi_aarch64.c. It knows their offsets: four bytes each.
	.text
leaf:				// 0: has not touched the stack
	.cfi_startproc
	nop
	ret
	.cfi_endproc
with_fp:			// 8: keeps a frame pointer
	.cfi_startproc
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset w29, -32
	.cfi_offset w30, -24
	mov	x29, sp
	.cfi_def_cfa w29, 32
	bl	leaf
	.cfi_remember_state
	ldp	x29, x30, [sp], #32	// 20: where leaf returns to
	.cfi_def_cfa wsp, 0
	.cfi_restore w30
	.cfi_restore w29
	ret
	.cfi_restore_state
	nop
	.cfi_endproc
signed_ra:			// 32: its return address is signed
	.cfi_startproc
	hint	#25		// paciasp
	.cfi_negate_ra_state
	str	x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset w30, -16
	bl	with_fp
	ldr	x30, [sp], #16	// 44
	.cfi_def_cfa_offset 0
	.cfi_restore w30
	hint	#29		// autiasp
	.cfi_negate_ra_state
	ret
	.cfi_endproc
large_frame:			// 56: no frame pointer, more than a page
	.cfi_startproc
	sub	sp, sp, #4096
	.cfi_def_cfa_offset 4096
	sub	sp, sp, #64
	.cfi_def_cfa_offset 4160
	str	x30, [sp, #48]
	.cfi_offset w30, -4112
	bl	signed_ra
	ldr	x30, [sp, #48]	// 72
	add	sp, sp, #64
	add	sp, sp, #4096
	.cfi_def_cfa_offset 0
	.cfi_restore w30
	ret
	.cfi_endproc
first:				// 88: nobody called it
	.cfi_startproc
	.cfi_undefined w30
	bl	large_frame
	nop			// 92
	.cfi_endproc
